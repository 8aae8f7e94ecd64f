import type { FileRead } from "@capstan/core/FileRead"

/** 1-based, inclusive. */
export type Lines = readonly [first: number, last: number]

const merged = (ranges: ReadonlyArray<Lines>): ReadonlyArray<Lines> =>
  [...ranges]
    .filter(([first, last]) => first <= last)
    .sort(([left], [right]) => left - right)
    .reduce<ReadonlyArray<Lines>>((done, [first, last]) => {
      const before = done.at(-1)
      return before !== undefined && first <= before[1] + 1
        ? [...done.slice(0, -1), [before[0], Math.max(before[1], last)]]
        : [...done, [first, last]]
    }, [])

/** Ascending numbers as ranges of neighbours. */
export const grouped = (numbers: Iterable<number>): ReadonlyArray<Lines> => {
  const ranges: Array<Lines> = []
  for (const number of numbers) {
    const before = ranges.at(-1)
    if (before !== undefined && number <= before[1] + 1) ranges[ranges.length - 1] = [before[0], number]
    else ranges.push([number, number])
  }
  return ranges
}

/** The lines of a new text that are known: new ones (`origins` 0), and those that come from one that was seen. */
export const carried = (ranges: ReadonlyArray<Lines>, origins: ReadonlyArray<number>): ReadonlyArray<Lines> => {
  const seen = merged(ranges)
  let at = 0
  return grouped(origins.flatMap((origin, index) => {
    while (at < seen.length && origin > (seen[at]?.[1] ?? 0)) at++
    return origin === 0 || origin >= (seen[at]?.[0] ?? Infinity) ? [index + 1] : []
  }))
}

/** What is known of a file after lines of it were shown (null: all), together with what was known of the same content. */
export const add = (
  previous: FileRead | undefined,
  now: { readonly path: string; readonly sha256: string; readonly total: number },
  shown: ReadonlyArray<Lines> | null
): FileRead => {
  const { path, sha256, total } = now
  const known = previous?.sha256 === sha256 ? previous.lines : []
  if (shown === null || known === null) return { path, sha256, lines: null }
  const lines = merged([...known, ...shown])
  const [only] = lines
  return { path, sha256, lines: only !== undefined && only[0] <= 1 && only[1] >= total ? null : lines }
}

/** The parts of `wanted` that were not seen. */
export const unseen = (read: FileRead, wanted: Lines): ReadonlyArray<Lines> => {
  const { lines } = read
  if (lines === null) return []
  const gaps: Array<Lines> = []
  let next = wanted[0]
  for (const [first, last] of merged(lines)) {
    if (first > next) gaps.push([next, Math.min(first - 1, wanted[1])])
    next = Math.max(next, last + 1)
    if (next > wanted[1]) break
  }
  if (next <= wanted[1]) gaps.push([next, wanted[1]])
  return gaps.filter(([first, last]) => first <= last)
}

/** Lines that were replaced by `added` other lines. */
export interface Replacement {
  readonly lines: Lines
  readonly added: number
}

/** The ranges that were seen, by the numbers they have after lines were replaced; replacements in ascending order. */
export const shift = (
  ranges: ReadonlyArray<Lines>,
  replacements: ReadonlyArray<Replacement>
): ReadonlyArray<Lines> => {
  const moved = (line: number, edge: "first" | "last"): number => {
    let delta = 0
    for (const { added, lines: [first, last] } of replacements) {
      if (line > last) delta += added - (last - first + 1)
      else if (line >= first) return edge === "first" ? first + delta : first + delta + added - 1
      else break
    }
    return line + delta
  }
  return merged(ranges.map(([first, last]): Lines => [moved(first, "first"), moved(last, "last")]))
}
