import * as Glob from "@capstan/core/Glob"

/** A path without `.`, `..` and doubled slashes; undefined where it leads above where it starts. */
const plain = (path: string): string | undefined => {
  const kept: Array<string> = []
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue
    if (segment !== "..") kept.push(segment)
    else if (kept.pop() === undefined) return undefined
  }
  return (path.startsWith("/") ? "/" : "") + kept.join("/")
}

/** Whether a pattern of a list covers a path, however it is written. */
export const coversPath = (path: string, pattern: string): boolean => {
  const clean = plain(path)
  return clean !== undefined && Glob.matches(pattern, clean === "" ? "." : clean)
}
