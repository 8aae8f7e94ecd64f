/**
 * What the commands of a chat show.
 *
 * @since 0.1.0
 */
import * as ContextGuard from "@capstan/core/ContextGuard"
import * as Replay from "@capstan/core/Replay"
import { Sandbox } from "@capstan/core/Sandbox"
import { ToolRegistry } from "@capstan/core/ToolRegistry"
import * as Effect from "effect/Effect"
import * as Approvals from "./Approvals.js"
import * as ApprovalsCommand from "./ApprovalsCommand.js"
import * as ChatLine from "./ChatLine.js"
import * as Composition from "./Composition.js"
import type { SessionFlags } from "./Flags.js"
import * as Instructions from "./Instructions.js"
import { count } from "./internal/callLines.js"
import * as Pending from "./Pending.js"
import * as Reading from "./Reading.js"
import { Screen } from "./Screen.js"

/**
 * The commands and what they do.
 *
 * @since 0.1.0
 * @category constructors
 */
export const help = Effect.flatMap(
  Screen,
  (screen) =>
    Effect.forEach(
      ChatLine.commands,
      ({ does, name, takes }) => screen.note(`${`${name} ${takes}`.padEnd(28)} ${does}`),
      { discard: true }
    )
)

/**
 * The tools that the model has.
 *
 * @since 0.1.0
 * @category constructors
 */
export const tools = Effect.gen(function*() {
  const screen = yield* Screen
  const registry = yield* ToolRegistry
  const { definitions } = yield* registry.tools
  const longest = Math.max(0, ...definitions.map(({ name }) => name.length))
  yield* Effect.forEach(
    definitions,
    ({ description, name }) =>
      screen.note(`${name.padEnd(longest)}  ${/^.*?(?=[.:](?:\s|$))/.exec(description)?.[0] ?? description}`)
  )
})

/** The estimate that the loop begins with: four bytes a token. */
const tokensOf = (value: unknown): number =>
  Math.ceil(new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)).length / 4)

/**
 * A conversation, as far as its views need it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Viewed {
  readonly session: string
  readonly workspace: string
  readonly flags: SessionFlags
}

/**
 * What is asked, and what was allowed for good.
 *
 * @since 0.1.0
 * @category constructors
 */
export const approvals = ({ flags, session, workspace }: Viewed) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const { allowlist, denylist, mode, trust } = Approvals.policy(flags)
    const found = (yield* Pending.permissions(workspace)).filter((permission) =>
      permission.session === null || permission.session === session
    )
    yield* screen.note(`approve ${mode}, trust ${trust}${flags.yes ? ", --yes" : ""}`)
    yield* Effect.forEach(allowlist, (entry) => screen.note(`allowed by --allow: ${entry}`))
    yield* Effect.forEach(denylist, (entry) => screen.note(`denied by --deny: ${entry}`))
    yield* Effect.forEach(
      found,
      (permission) => screen.note(`allowed: ${ApprovalsCommand.permissionText(permission, false)}`)
    )
    if (found.length > 0) yield* screen.note("Take one back with: capstan approvals revoke ID")
  })

/**
 * Tokens in use, by part.
 *
 * @since 0.1.0
 * @category constructors
 */
export const context = ({ flags, session, workspace }: Viewed) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const registry = yield* ToolRegistry
    const { files } = yield* Sandbox
    const state = Replay.state(yield* Effect.orElseSucceed(Reading.rows(session), () => []))
    const { messages } = state
    const tokens = ContextGuard.tokensInUse(state.context)
    const { definitions } = yield* registry.tools
    const isOn = Composition.mode(flags) !== "disabled"
    const of = (role: (typeof messages)[number]["role"]) =>
      messages.filter((message) => message.role === role).reduce((sum, message) => sum + tokensOf(message), 0)
    const parts = [
      ["instructions", tokensOf(yield* Instructions.make({ files, root: workspace, tools: isOn }))],
      ["tools", isOn ? tokensOf(definitions) : 0],
      ["your messages", of("user")],
      ["answers and calls", of("assistant")],
      ["results of calls", of("tool")]
    ] as const
    yield* Effect.forEach(
      parts,
      ([name, value]) => screen.note(`${name.padEnd(18)} ${count(value).padStart(9)}  (estimated)`)
    )
    yield* screen.note(
      `${"in use".padEnd(18)} ${
        tokens === null
          ? `${count(parts.reduce((sum, [, value]) => sum + value, 0)).padStart(9)}  (estimated)`
          : `${count(tokens).padStart(9)}  (counted by the provider at the last answer)`
      }`
    )
  })
