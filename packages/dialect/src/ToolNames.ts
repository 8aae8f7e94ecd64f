/**
 * Registered tool names on a wire that allows fewer characters, and the way back.
 *
 * @since 0.1.0
 */

/**
 * A bijection between registered names and the names that a wire allows.
 *
 * @since 0.1.0
 * @category models
 */
export interface WireNames {
  /** Registered name → wire name. A name that is not in the table is made legal on its own. */
  readonly toWire: (name: string) => string
  /** Wire name → registered name; a name that is not in the table comes back as it is. */
  readonly fromWire: (name: string) => string
}

const longest = 64

const hash = (text: string): string => {
  let value = 0x811c9dc5
  for (let position = 0; position < text.length; position++) {
    value = Math.imul(value ^ text.charCodeAt(position), 0x01000193)
  }
  return (value >>> 0).toString(36).padStart(7, "0")
}

const isLegal = (name: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(name)

const legal = (name: string): string => {
  const replaced = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_")
  return replaced === "" ? "tool" : replaced.slice(0, longest)
}

const marked = (name: string, attempt: number): string => {
  const mark = `_${hash(attempt === 0 ? name : `${name} ${attempt}`)}`
  return legal(name).slice(0, longest - mark.length) + mark
}

/**
 * Maps names to `^[a-zA-Z0-9_-]{1,64}$` and back without collisions. Legal names keep their form; a name that would
 * collide, or is too long, gets a mark made from its own text, so the mapping of a set of names does not depend on
 * their order.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (names: Iterable<string>): WireNames => {
  const toWire = new Map<string, string>()
  const fromWire = new Map<string, string>()
  const all = [...new Set(names)].sort()
  const assign = (name: string, wire: string) => {
    toWire.set(name, wire)
    fromWire.set(wire, name)
  }
  for (const name of all) {
    if (isLegal(name)) assign(name, name)
  }
  const rest = all.filter((name) => !toWire.has(name))
  const wanted = new Map<string, number>()
  for (const name of rest) wanted.set(legal(name), (wanted.get(legal(name)) ?? 0) + 1)
  for (const name of rest) {
    const plain = legal(name)
    let wire = plain
    for (
      let attempt = 0;
      fromWire.has(wire) || (attempt === 0 && (name.length > longest || wanted.get(plain) !== 1));
      attempt++
    ) {
      wire = marked(name, attempt)
    }
    assign(name, wire)
  }
  return {
    toWire: (name) =>
      toWire.get(name) ??
        (isLegal(name) && !fromWire.has(name)
          ? name
          : name.length > longest || fromWire.has(legal(name))
          ? marked(name, 0)
          : legal(name)),
    fromWire: (name) => fromWire.get(name) ?? name
  }
}
