/** This program itself, run by a command: what was approved must not approve, start or change anything else through it. */
import { programOf } from "./unfolding.js"

/** Those that only look. Another one, or one that is only known when it runs, counts as one that changes something. */
const looking = /^(?:--version|--help|-h|sessions|show|replay|audit|doctor|tools)$/

const listing = /^(?:-.*|permissions)$/

const onlyLooks = ([verb, ...rest]: ReadonlyArray<string>): boolean =>
  verb === undefined || looking.test(verb) || (verb === "approvals" && rest.every((word) => listing.test(word)))

const isNamed = (word: string): boolean =>
  /^capstan(?:\.js|\.cmd)?$/.test(programOf(word)) || /^@?capstan(?:\/cli)?(?:@[\w.^~-]+)?$/.test(word) ||
  /(?:^|\/)cli\/dist\/(?:bin\.js|bundle\/.+)$/.test(word)

/** What starts a program that is named by a later argument. */
const runners = /^(?:node|nodejs|npx|npm|pnpm|pnpx|yarn|bun|bunx|deno|tsx|corepack)$/

const handling =
  /^(?:add|ci|i|info|install|link|list|ls|outdated|pack|publish|remove|rm|un|uninstall|unlink|up|update|upgrade|view|why)$/

/** Whether a list of arguments runs this program to change something. */
export const changes = ([name = "", ...args]: ReadonlyArray<string>): boolean => {
  if (isNamed(name)) return !onlyLooks(args)
  if (!runners.test(programOf(name)) || args.slice(0, 1).some((word) => handling.test(word))) return false
  return args.some((word, at) => isNamed(word) && !onlyLooks(args.slice(at + 1)))
}
