import * as Predicate from "effect/Predicate"

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject => Predicate.isRecord(value) && !Array.isArray(value)
