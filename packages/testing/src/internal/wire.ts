/** Reading bodies of unknown form. */
import * as Predicate from "effect/Predicate"
import type { Violation } from "../HistoryValidator.js"
import { violation } from "./historyRules.js"

export interface Item {
  readonly at: string
  readonly value: Readonly<Record<string, unknown>>
}

export const field = (value: unknown, name: string): unknown => Predicate.isRecord(value) ? value[name] : undefined

/** The objects of a list; anything else in it, or no list at all, is reported. */
export const items = (
  value: unknown,
  at: string,
  found: Array<Violation>
): ReadonlyArray<Item> => {
  if (!Array.isArray(value)) {
    found.push(violation("shape", at, "This is not a list."))
    return []
  }
  return value.flatMap((one: unknown, index) => {
    const here = `${at}[${index}]`
    if (Predicate.isRecord(one)) return [{ at: here, value: one }]
    found.push(violation("shape", here, "This is not an object."))
    return []
  })
}

/** Parts of a message: a text stands for one text part. */
export const parts = (
  value: unknown,
  at: string,
  textType: string,
  found: Array<Violation>
): ReadonlyArray<Item> =>
  typeof value === "string" ? [{ at, value: { type: textType, text: value } }] : items(value, at, found)

/** Each part is of a known kind, and texts say something. */
export const checkParts = (
  all: ReadonlyArray<Item>,
  options: { readonly at: string; readonly kinds: ReadonlyArray<string>; readonly blank: (text: string) => boolean },
  found: Array<Violation>
): void => {
  if (all.length === 0) found.push(violation("empty-message", options.at, "There are no parts."))
  for (const { at, value } of all) {
    const kind = value["type"]
    if (typeof kind !== "string" || !options.kinds.includes(kind)) {
      found.push(violation("shape", at, `A part of the kind ${JSON.stringify(kind)} cannot stand here.`))
    }
    const text = value["text"]
    if (kind === "text" || kind === "input_text" || kind === "output_text") {
      if (typeof text !== "string") found.push(violation("shape", at, "A text part has no text."))
      else if (options.blank(text)) found.push(violation("empty-text", at, "A text part says nothing: leave it out."))
    }
  }
}

export const isEmpty = (text: string): boolean => text === ""

export const isBlank = (text: string): boolean => text.trim() === ""

export const required = (item: Item, names: ReadonlyArray<string>, found: Array<Violation>): void => {
  for (const name of names) {
    if (typeof item.value[name] !== "string") found.push(violation("shape", item.at, `"${name}" is missing.`))
  }
}
