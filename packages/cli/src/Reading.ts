/**
 * What commands that only read have in common: the journal of a place, and how its times and texts are shown.
 *
 * @since 0.1.0
 */
import { Journal, type JournalRow, type SessionInfo } from "@capstan/core/Journal"
import * as Sanitiser from "@capstan/core/Sanitiser"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CommandError from "./CommandError.js"
import * as Composition from "./Composition.js"
import type { Host } from "./Host.js"
import * as Places from "./Places.js"

/**
 * The flags of every command that reads.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReadFlags {
  readonly cwd: Option.Option<string>
  readonly json: boolean
}

/**
 * Gives `read` the places and everything that is stored there.
 *
 * @since 0.1.0
 * @category constructors
 */
export const from = <A, R>(
  flags: ReadFlags,
  read: (places: Places.Places) => Effect.Effect<A, CommandError.CommandError, R>
): Effect.Effect<A, CommandError.CommandError, Exclude<R, Composition.Stored> | Host> =>
  Effect.flatMap(
    Places.find({ cwd: Option.getOrUndefined(flags.cwd) }),
    (places) => Effect.provide(read(places), Composition.stored(places))
  )

/**
 * The sessions of a project, or of all (undefined), the latest first.
 *
 * @since 0.1.0
 * @category accessors
 */
export const sessions = (
  project: string | undefined
): Effect.Effect<ReadonlyArray<SessionInfo>, CommandError.CommandError, Journal> =>
  Effect.flatMap(Journal, (journal) => Effect.mapError(journal.sessions({ project }), CommandError.ofRunError))

/**
 * The rows of a session.
 *
 * @since 0.1.0
 * @category accessors
 */
export const rows = (
  session: string
): Effect.Effect<ReadonlyArray<JournalRow>, CommandError.CommandError, Journal> =>
  Effect.flatMap(Journal, (journal) => Effect.mapError(journal.read({ session }), CommandError.ofRunError))

/**
 * Where a session stands, in words for a list; empty: nothing is to be done.
 *
 * @since 0.1.0
 * @category accessors
 */
export const standing = ({ isOpen, last }: SessionInfo): "" | "asks" | "running" | "waits" | "cut off" => {
  if (isOpen) return last?._tag === "Asked" ? "asks" : "running"
  if (last === null) return ""
  if (last._tag === "Asked") return "waits"
  if (last._tag !== "TurnEnded") return "cut off"
  return last.end === "awaiting" ? "waits" : ""
}

/**
 * Stored text on its way to a screen.
 *
 * @since 0.1.0
 * @category combinators
 */
export const clean = (text: string): string => Sanitiser.sanitise(text).text

/**
 * The same as one line, with what cannot be seen written out.
 *
 * @since 0.1.0
 * @category combinators
 */
export const oneLine = (text: string): string => Sanitiser.escapeInvisible(text.replace(/\s*[\r\n]+\s*/g, " ").trim())

const minutes = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" })

/**
 * A day and a time, to the minute.
 *
 * @since 0.1.0
 * @category combinators
 */
export const moment = (millis: number): string => minutes.format(millis)

/**
 * How long ago something was, in its largest unit.
 *
 * @since 0.1.0
 * @category combinators
 */
export const age = (millis: number): string => {
  const seconds = Math.max(0, Math.floor(millis / 1_000))
  const units = [[86_400, "d"], [3_600, "h"], [60, "min"]] as const
  const [size, name] = units.find(([size]) => seconds >= size) ?? [1, "s"]
  return `${Math.floor(seconds / size)} ${name}`
}
