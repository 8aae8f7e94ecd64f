/**
 * The rules that all histories share, over a form that every dialect is brought into: who spoke, which calls, which
 * results.
 */
import * as Predicate from "effect/Predicate"
import type { Rule, Violation } from "../HistoryValidator.js"

export interface Call {
  readonly at: string
  readonly id: unknown
  readonly name: unknown
  /** The parsed arguments; undefined where they are not JSON. */
  readonly arguments: unknown
}

export interface Result {
  readonly at: string
  readonly id: unknown
  /** Undefined where the dialect does not repeat the name. */
  readonly name: string | undefined
}

export interface Entry {
  readonly at: string
  readonly role: "user" | "assistant" | "results"
  readonly calls: ReadonlyArray<Call>
  readonly results: ReadonlyArray<Result>
}

export interface Limits {
  readonly id: RegExp
  /** Undefined: any name, since the provider maps it to what the wire allows. */
  readonly name: RegExp | undefined
}

export const violation = (rule: Rule, at: string, message: string): Violation => ({ rule, at, message })

export const user = (at: string): Entry => ({ at, role: "user", calls: [], results: [] })

export const assistant = (at: string, calls: ReadonlyArray<Call>): Entry => ({
  at,
  role: "assistant",
  calls,
  results: []
})

export const results = (at: string, answers: ReadonlyArray<Result>): Entry => ({
  at,
  role: "results",
  calls: [],
  results: answers
})

export const parseJson = (text: unknown): unknown => {
  if (typeof text !== "string") return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Neighbours of one role become one entry, as services that send each call and each result on its own read them. */
export const merge = (entries: ReadonlyArray<Entry>, roles: ReadonlyArray<Entry["role"]>): ReadonlyArray<Entry> => {
  const merged: Array<Entry> = []
  for (const entry of entries) {
    const last = merged.at(-1)
    if (last === undefined || last.role !== entry.role || !roles.includes(entry.role)) merged.push(entry)
    else {
      merged[merged.length - 1] = {
        ...last,
        calls: [...last.calls, ...entry.calls],
        results: [...last.results, ...entry.results]
      }
    }
  }
  return merged
}

export const check = (entries: ReadonlyArray<Entry>, limits: Limits): ReadonlyArray<Violation> => [
  ...checkFirst(entries),
  ...checkCalls(entries, limits),
  ...checkPairs(entries)
]

const checkFirst = (entries: ReadonlyArray<Entry>): ReadonlyArray<Violation> => {
  const first = entries[0]
  if (first === undefined) return [violation("first-user", "messages", "There is no message.")]
  return first.role === "user" ? [] : [violation("first-user", first.at, `The first message is of ${first.role}.`)]
}

/** The last entry of a request is what the model shall answer to. */
export const checkLast = (entries: ReadonlyArray<Entry>): ReadonlyArray<Violation> => {
  const last = entries.at(-1)
  return last?.role === "assistant"
    ? [violation("last-input", last.at, "The last message is the assistant's own: there is nothing to answer.")]
    : []
}

const checkCalls = (entries: ReadonlyArray<Entry>, limits: Limits): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const seen = new Set<unknown>()
  for (const call of entries.flatMap((entry) => entry.calls)) {
    if (typeof call.id !== "string" || !limits.id.test(call.id)) {
      found.push(violation("id-legal", call.at, `The id ${show(call.id)} does not match ${limits.id.source}.`))
    }
    if (seen.has(call.id)) {
      found.push(violation("id-unique", call.at, `The id ${show(call.id)} was used by an earlier call.`))
    }
    seen.add(call.id)
    if (limits.name !== undefined && (typeof call.name !== "string" || !limits.name.test(call.name))) {
      found.push(violation("name-legal", call.at, `The name ${show(call.name)} does not match ${limits.name.source}.`))
    }
    if (!Predicate.isRecord(call.arguments)) {
      found.push(violation("arguments-object", call.at, `The arguments of ${show(call.name)} are not a JSON object.`))
    }
  }
  return found
}

const checkPairs = (entries: ReadonlyArray<Entry>): ReadonlyArray<Violation> => {
  const callIds = new Set(entries.flatMap((entry) => entry.calls.map((call) => call.id)))
  const resultIds = new Set(entries.flatMap((entry) => entry.results.map((result) => result.id)))
  return entries.flatMap((entry, index) => {
    switch (entry.role) {
      case "user":
        return []
      case "assistant":
        return checkAnswered(entry.calls, entries[index + 1]?.results ?? [], resultIds)
      case "results":
        return checkResults(entry.results, entries[index - 1]?.calls ?? [], callIds)
    }
  })
}

const checkAnswered = (
  calls: ReadonlyArray<Call>,
  next: ReadonlyArray<Result>,
  resultIds: ReadonlySet<unknown>
): ReadonlyArray<Violation> => {
  const answered = new Set(next.map((result) => result.id))
  return calls.filter((call) => !answered.has(call.id)).map((call) =>
    resultIds.has(call.id)
      ? violation("result-misplaced", call.at, `The result of ${show(call.id)} does not stand directly after the call.`)
      : violation("call-unanswered", call.at, `The call ${show(call.id)} has no result.`)
  )
}

const checkResults = (
  answers: ReadonlyArray<Result>,
  calls: ReadonlyArray<Call>,
  callIds: ReadonlySet<unknown>
): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const position = new Map(calls.map((call, index) => [call.id, index] as const))
  const seen = new Set<unknown>()
  let last = -1
  for (const result of answers) {
    const index = position.get(result.id)
    if (seen.has(result.id)) {
      found.push(violation("result-duplicate", result.at, `The call ${show(result.id)} has more than one result.`))
    } else if (index === undefined) {
      found.push(
        callIds.has(result.id)
          ? violation("result-misplaced", result.at, `The result of ${show(result.id)} belongs after another response.`)
          : violation("result-orphan", result.at, `No call has the id ${show(result.id)}.`)
      )
    } else {
      if (index < last) {
        found.push(
          violation("result-order", result.at, `The result of ${show(result.id)} stands after that of a later call.`)
        )
      }
      last = Math.max(last, index)
      const name = calls[index]?.name
      if (result.name !== undefined && result.name !== name) {
        found.push(
          violation("name-agrees", result.at, `The result is named ${show(result.name)}, its call ${show(name)}.`)
        )
      }
    }
    seen.add(result.id)
  }
  return found
}

const wireName = /^[a-zA-Z0-9_-]+$/

/** The tools of a request: legal names, each once, objects as parameters, and a choice that is among them. */
export const checkTools = (options: {
  readonly at: string
  readonly longestName: number
  readonly tools: ReadonlyArray<{ readonly name: unknown; readonly parameters: unknown }>
  readonly chosen: string | undefined
}): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const seen = new Set<unknown>()
  options.tools.forEach(({ name, parameters }, index) => {
    const at = `${options.at}[${index}]`
    if (typeof name !== "string" || name.length > options.longestName || !wireName.test(name)) {
      found.push(violation("tool-definition", at, `The name ${show(name)} is not legal on the wire.`))
    }
    if (seen.has(name)) found.push(violation("tool-definition", at, `Two tools are called ${show(name)}.`))
    seen.add(name)
    if (!Predicate.isRecord(parameters) || parameters["type"] !== "object") {
      found.push(violation("tool-definition", at, `The parameters of ${show(name)} are not the schema of an object.`))
    }
  })
  if (options.chosen !== undefined && !seen.has(options.chosen)) {
    found.push(violation("tool-choice", "tool_choice", `The tool ${show(options.chosen)} is not among the tools.`))
  }
  return found
}

export const show = (value: unknown): string => JSON.stringify(value) ?? String(value)
