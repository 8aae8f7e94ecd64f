import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff"

const contextLines = 3
/** Beyond this size the work of finding the smallest difference is bounded. */
const maxEditLength = 5_000

/** A change of one file as a unified diff; undefined where it is too large to show. */
export const unifiedDiff = (options: {
  readonly path: string
  readonly before: string | undefined
  readonly after: string
}): string | undefined =>
  createTwoFilesPatch(
    options.before === undefined ? "/dev/null" : options.path,
    options.path,
    options.before ?? "",
    options.after,
    undefined,
    undefined,
    { context: contextLines, maxEditLength, headerOptions: FILE_HEADERS_ONLY }
  )
