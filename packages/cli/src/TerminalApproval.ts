/**
 * Asks the person at the terminal: shows exactly what will happen, takes one decision over the batch.
 *
 * @since 0.1.0
 */
import type * as Approval from "@capstan/core/Approval"
import type { Redactor } from "@capstan/core/Redaction"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Prompt } from "./Approvals.js"
import { Host } from "./Host.js"
import * as view from "./internal/approvalView.js"
import { Screen } from "./Screen.js"
import { Tty } from "./Tty.js"

const Arguments = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const approve: Approval.Answer = { _tag: "Approve" }

const deny = (reason: string | null): Approval.Answer => ({ _tag: "Deny", reason })

interface Asker {
  readonly write: (text: string) => Effect.Effect<void>
  readonly columns: Effect.Effect<number>
  readonly tty: Tty["Type"]
  readonly screen: Screen["Type"]
  readonly redactor: Redactor
}

/**
 * What asks in this terminal. It is one half of the approval of a run: rules, `--yes` and runs without a person are in
 * `Approvals`. Ctrl-C at the question cancels the turn.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly redactor: Redactor
}): Effect.Effect<Prompt, never, Host | Screen | Tty> =>
  Effect.gen(function*() {
    const host = yield* Host
    const screen = yield* Screen
    const tty = yield* Tty
    const asker: Asker = {
      write: host.write,
      columns: Effect.map(tty.size, ({ columns }) => Math.max(20, columns)),
      tty,
      screen,
      redactor: options.redactor
    }
    return ({ questions }) => {
      const [first] = questions
      return screen.exclusive({
        ...(first === undefined ? {} : { after: first.ref }),
        use: tty.guarded(decide(asker, questions))
      })
    }
  })

const show = (asker: Asker, render: (columns: number) => string): Effect.Effect<void> =>
  Effect.flatMap(asker.columns, (columns) => asker.write(render(columns)))

const say = (asker: Asker, text: string, style: "green" | "yellow" | "red" | "dim" = "dim"): Effect.Effect<void> =>
  show(asker, (columns) => view.said(text, style, columns))

/** One of the keys; others do nothing. */
const pressed = <const Key extends string>(
  asker: Asker,
  choices: ReadonlyArray<{ readonly key: Key; readonly says: string }>
): Effect.Effect<Key> =>
  Effect.gen(function*() {
    yield* show(asker, (columns) => view.choices(choices, columns))
    while (true) {
      const key = yield* asker.tty.key
      const choice = choices.find((choice) => choice.key === key.toLowerCase())
      if (choice !== undefined) return choice.key
    }
  })

/** A line; undefined: the person thought better of it. Ctrl-C is what it is everywhere. */
const lineOf = (asker: Asker, prompt: string, initial?: string): Effect.Effect<string | undefined> =>
  Effect.flatMap(asker.tty.line({ prompt, ...(initial === undefined ? {} : { initial }) }), (input) => {
    switch (input._tag) {
      case "Line":
        return Effect.succeed(input.text.trim())
      case "Ended":
        return Effect.succeed(undefined)
      case "Interrupted":
        return Effect.zipRight(asker.tty.interrupt, Effect.never)
    }
  })

const decide = (asker: Asker, questions: ReadonlyArray<Approval.Question>): Effect.Effect<Approval.Decision> =>
  Effect.gen(function*() {
    const origin = yield* asker.screen.origin
    yield* show(asker, (columns) => view.request(questions, { columns, origin, all: false }))
    yield* asker.tty.settled
    const [only, ...others] = questions
    if (only === undefined) return { _tag: "ApproveAll" }
    const all = others.length === 0
      ? Effect.map(one(asker, only, questions), (answer) => answer === undefined ? undefined : [given(only, answer)])
      : batch(asker, questions)
    while (true) {
      const answers = yield* all
      if (answers === undefined) continue
      if ("_tag" in answers) {
        yield* say(asker, summaryOf([deny(answers.reason)]))
        return answers
      }
      yield* say(asker, summaryOf(answers.map(({ answer }) => answer)))
      return answers.every(({ answer }) => answer._tag === "Approve")
        ? { _tag: "ApproveAll" }
        : { _tag: "Each", answers }
    }
  })

type DenyAll = Extract<Approval.Decision, { readonly _tag: "DenyAll" }>

interface Given {
  readonly position: number
  readonly answer: Approval.Answer
}

const given = (question: Approval.Question, answer: Approval.Answer): Given => ({
  position: question.ref.position,
  answer
})

const summaryOf = (answers: ReadonlyArray<Approval.Answer>): string => {
  const denied = answers.filter(({ _tag }) => _tag === "Deny").length
  const edited = answers.some(({ _tag }) => _tag === "Edit") ? ", as edited" : ""
  if (denied === 0) return `→ approved${edited}`
  return denied === answers.length ? "→ denied" : `→ ${answers.length - denied} approved${edited}, ${denied} denied`
}

const showAll = { key: "v", says: "show everything" } as const

const viewAll = (asker: Asker, questions: ReadonlyArray<Approval.Question>): Effect.Effect<undefined> =>
  Effect.gen(function*() {
    const origin = yield* asker.screen.origin
    yield* show(asker, (columns) => view.request(questions, { columns, origin, all: true }))
    return undefined
  })

/** Undefined: ask again. */
const batch = (
  asker: Asker,
  questions: ReadonlyArray<Approval.Question>
): Effect.Effect<ReadonlyArray<Given> | DenyAll | undefined> =>
  Effect.gen(function*() {
    const entries = questions.map((question) => entryOf(asker, question))
    const key = yield* pressed(asker, [
      { key: "y", says: `yes to all ${questions.length}` },
      { key: "n", says: "no to all" },
      { key: "c", says: "choose each" },
      ...(entries.some((entry) => entry !== undefined) ? [always] : []),
      { key: "r", says: "no to all, and say why" },
      ...(view.isCut(questions) ? [showAll] : [])
    ])
    switch (key) {
      case "y":
        return questions.map((question) => given(question, approve))
      case "n":
        return { _tag: "DenyAll", reason: null }
      case "r": {
        const reason = yield* lineOf(asker, "Why not? ")
        return reason === undefined ? undefined : { _tag: "DenyAll", reason: reason === "" ? null : reason }
      }
      case "v":
        return yield* viewAll(asker, questions)
      case "c":
        return yield* chosen(asker, questions, questions.map(() => undefined))
      case "a": {
        const scope = yield* scoped(asker, entries.filter((entry) => entry !== undefined), scopes)
        return scope === "n" ? undefined : yield* chosen(
          asker,
          questions,
          entries.map((entry) => entry === undefined ? undefined : allowed(entry, scope))
        )
      }
    }
  })

/** Each question by itself, where its answer is not known. */
const chosen = (
  asker: Asker,
  questions: ReadonlyArray<Approval.Question>,
  known: ReadonlyArray<Approval.Answer | undefined>
): Effect.Effect<ReadonlyArray<Given> | undefined> =>
  Effect.gen(function*() {
    const answers: Array<Given> = []
    for (const [index, question] of questions.entries()) {
      let answer = known[index]
      while (answer === undefined) {
        yield* show(asker, (columns) => view.again(question, index, questions.length, columns))
        answer = yield* one(asker, question, [question])
      }
      answers.push(given(question, answer))
    }
    return answers
  })

/** Undefined: ask again. */
const one = (
  asker: Asker,
  question: Approval.Question,
  shown: ReadonlyArray<Approval.Question>
): Effect.Effect<Approval.Answer | undefined> =>
  Effect.gen(function*() {
    const entry = entryOf(asker, question)
    const key = yield* pressed(asker, [
      { key: "y", says: "yes" },
      { key: "n", says: "no" },
      ...(entry === undefined ? [] : [always]),
      { key: "e", says: "edit" },
      { key: "r", says: "no, and say why" },
      ...(view.isCut(shown) ? [showAll] : [])
    ])
    switch (key) {
      case "y":
        return approve
      case "n":
        return deny(null)
      case "r": {
        const reason = yield* lineOf(asker, "Why not? ")
        return reason === undefined ? undefined : deny(reason === "" ? null : reason)
      }
      case "v":
        return yield* viewAll(asker, shown)
      case "a":
        return entry === undefined ? undefined : yield* permit(asker, entry)
      case "e":
        return yield* edit(asker, question.arguments)
    }
  })

const always = { key: "a", says: "always…" } as const

const scopes = [
  { key: "t", says: "until this turn ends" },
  { key: "s", says: "in this session" },
  { key: "p", says: "in this project" }
] as const

type ScopeKey = (typeof scopes)[number]["key"]

const scopeOf: { readonly [Key in ScopeKey]: Approval.Scope } = { t: "turn", s: "session", p: "project" }

const allowed = (entry: string, key: ScopeKey): Approval.Answer => ({ _tag: "Always", entry, scope: scopeOf[key] })

/** An entry that holds a secret would carry it into every later look at the list. */
const entryOf = ({ redactor }: Asker, question: Approval.Question): string | undefined => {
  const entry = view.entryOf(question)
  return entry === undefined || redactor.containsMarker(entry) || redactor.redact(entry) !== entry ? undefined : entry
}

const scoped = <const Key extends string>(
  asker: Asker,
  entries: ReadonlyArray<string>,
  choices: ReadonlyArray<{ readonly key: Key; readonly says: string }>
): Effect.Effect<Key | "n"> =>
  say(asker, "From now on this runs without a question:", "yellow").pipe(
    Effect.zipRight(show(asker, (columns) => view.quoted(entries.join("\n"), columns))),
    Effect.zipRight(pressed<Key | "n">(asker, [...choices, { key: "n", says: "back" }]))
  )

const permit = (asker: Asker, entry: string): Effect.Effect<Approval.Answer | undefined> =>
  Effect.gen(function*() {
    const key = yield* scoped(asker, [entry], [...scopes, { key: "e", says: "change it" } as const])
    if (key === "n") return undefined
    if (key !== "e") return allowed(entry, key)
    const changed = yield* lineOf(asker, "Allow: ", entry)
    return changed === undefined || changed === "" ? undefined : yield* permit(asker, changed)
  })

const edit = (
  asker: Asker,
  args: Readonly<Record<string, unknown>>
): Effect.Effect<Approval.Answer | undefined> =>
  Effect.gen(function*() {
    const text = yield* asker.tty.edit({ text: `${JSON.stringify(args, null, 2)}\n`, name: "arguments.json" }).pipe(
      Effect.catchAll(({ message }) =>
        Effect.zipRight(
          say(asker, `${message} The arguments as one line, then:`),
          lineOf(asker, "Arguments: ", JSON.stringify(args))
        )
      )
    )
    if (text === undefined || text === "") return undefined
    const parsed = Schema.decodeUnknownEither(Arguments)(text)
    if (Either.isLeft(parsed)) {
      const [issue] = ParseResult.ArrayFormatter.formatErrorSync(parsed.left)
      yield* say(asker, `These are no arguments: ${issue?.message ?? "not a JSON object"}`, "red")
      return undefined
    }
    yield* say(asker, "It runs with these arguments instead:", "yellow")
    yield* show(asker, (columns) => view.quoted(JSON.stringify(parsed.right, null, 2), columns))
    const key = yield* pressed(asker, [{ key: "y", says: "yes" }, { key: "n", says: "back" }])
    return key === "y" ? { _tag: "Edit", arguments: parsed.right } : undefined
  })
