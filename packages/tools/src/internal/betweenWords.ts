/** What stands in a line outside of these pieces of it. */
export const outside = (
  line: string,
  pieces: ReadonlyArray<{ readonly pos: number; readonly end: number }>
): string => {
  let from = 0
  const gaps: Array<string> = []
  for (const { end, pos } of pieces.slice().sort((left, right) => left.pos - right.pos)) {
    gaps.push(line.slice(from, pos))
    from = Math.max(from, end)
  }
  return gaps.join(" ") + line.slice(from)
}
