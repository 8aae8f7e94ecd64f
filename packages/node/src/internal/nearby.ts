import { FileError } from "@capstan/core/FileError"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import { walk } from "./anchor.js"
import type { Gate, Place } from "./gate.js"

const looked = 200
const named = 8

const distance = (left: string, right: string): number => {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let at = 1; at <= left.length; at++) {
    const next = [at]
    for (let to = 1; to <= right.length; to++) {
      const replaced = (row[to - 1] ?? 0) + (left[at - 1] === right[to - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** What there is where a missing path stops to exist: the names most like the wanted one, denied ones left out. */
const hint = (gate: Gate, place: Place): string | undefined => {
  const existing = place.segments.slice(0, place.segments.length - Math.max(1, place.missing))
  const wanted = (place.segments[existing.length] ?? "").toLowerCase().slice(0, 64)
  const names: Array<string> = []
  const denied = gate.denials(place.mount, existing, "list")
  const folder = walk(gate.anchor, place.mount.root, existing)
  try {
    const open = Fs.opendirSync(folder.self)
    try {
      for (let entry = open.readSync(); entry !== null && names.length < looked; entry = open.readSync()) {
        if (denied(entry.name) === undefined) {
          names.push(entry.isDirectory() ? `${entry.name}/` : entry.name)
        }
      }
    } finally {
      open.closeSync()
    }
  } finally {
    folder.close()
  }
  const where = gate.display(place.mount, existing)
  const missing = existing.length + 1 < place.segments.length
    ? `There is no folder "${place.segments[existing.length] ?? ""}" in "${where}"`
    : `There is no "${place.path}"`
  if (names.length === 0) return `${missing}; "${where}" is empty.`
  const likely = names
    .map((name) => ({ name, far: distance(wanted, name.toLowerCase().slice(0, 64)) }))
    .sort((left, right) => left.far - right.far || (left.name < right.name ? -1 : 1))
    .slice(0, named)
    .map(({ name }) => name)
  return `${missing}. "${where}" has: ${likely.join(", ")}${names.length > named ? ", and more" : ""}.`
}

/** Makes a `not-found` say what is there instead. */
export const orNearby = <A>(
  gate: Gate,
  place: Place,
  effect: Effect.Effect<A, FileError>
): Effect.Effect<A, FileError> =>
  Effect.mapError(effect, (error) => {
    if (error.reason !== "not-found" || place.segments.length === 0) return error
    try {
      const message = hint(gate, place)
      return message === undefined ? error : new FileError({ ...error, message })
    } catch {
      return error
    }
  })
