/**
 * Which protections are off, one sentence each, for the start of a run and for `doctor`.
 *
 * @since 0.1.0
 */
import type { Sandbox } from "@capstan/core/Sandbox"
import * as Option from "effect/Option"
import type { SessionFlags } from "./Flags.js"

/**
 * What the flags switched off.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ofFlags = (flags: SessionFlags): ReadonlyArray<string> => [
  ...(flags.yes
    ? ["Approval is off (--yes): edits and commands run unasked, except what must be asked every time."]
    : []),
  ...(Option.contains(flags.approve, "auto") ? ["File edits run unasked (--approve auto)."] : []),
  ...(Option.contains(flags.trust, "full") ? ["The trust level is full (--trust full)."] : []),
  ...flags.allow.map((entry) => `Calls of ${entry} run unasked (--allow).`),
  ...flags.addDir.map((folder) => `Tools also see ${folder} (--add-dir).`)
]

/**
 * What is off in a run: by the system, and by the flags.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (flags: SessionFlags, sandbox: Sandbox["Type"]): ReadonlyArray<string> => [
  ...sandbox.weakened,
  ...ofFlags(flags)
]
