/**
 * What a person changed in the arguments of a call, in words. Pure.
 *
 * @since 0.1.0
 */

type Arguments = Readonly<Record<string, unknown>>

const maxValue = 120

/**
 * One sentence for the model: which arguments are others now, came in, or went out. A long value is told by its length.
 *
 * @since 0.1.0
 * @category combinators
 */
export const describe = (before: Arguments, after: Arguments): string => {
  const changed = Object.entries(after).flatMap(([name, value]) => {
    const now = told(value)
    if (!Object.hasOwn(before, name)) return [`"${name}" was added as ${now}`]
    return JSON.stringify(before[name]) === JSON.stringify(value)
      ? []
      : [`"${name}" was changed from ${told(before[name])} to ${now}`]
  })
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name)).map((name) =>
    `"${name}" was taken out`
  )
  const all = [...changed, ...gone]
  return all.length === 0
    ? "The user looked at the arguments and left them as they were."
    : `The user changed the arguments of this call: ${all.join("; ")}.`
}

const told = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length <= maxValue ? text : `a value of ${text.length} characters`
}
