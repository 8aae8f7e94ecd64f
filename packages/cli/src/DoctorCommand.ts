/**
 * `capstan doctor`: what is found on this machine, what is protected, what would ask and what would run.
 *
 * @since 0.1.0
 */
import { Journal } from "@capstan/core/Journal"
import type { Safety } from "@capstan/core/Safety"
import { Sandbox } from "@capstan/core/Sandbox"
import * as BubblewrapProbe from "@capstan/node/BubblewrapProbe"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as fs from "node:fs"
import process from "node:process"
import * as CommandError from "./CommandError.js"
import * as Composition from "./Composition.js"
import type { ModelFlags } from "./Flags.js"
import { Host } from "./Host.js"
import * as JsonOutput from "./JsonOutput.js"
import * as LocalServers from "./LocalServers.js"
import * as ModelChoice from "./ModelChoice.js"
import * as Places from "./Places.js"
import type { Signals } from "./Signals.js"

/** A thing that was looked at: fine, not there (which need not matter), or broken. */
interface Finding {
  readonly name: string
  readonly state: "ok" | "none" | "broken"
  readonly text: string
}

/**
 * Looks at everything and tells it; fails with exit code 1 if something is broken that runs would need.
 *
 * @since 0.1.0
 * @category constructors
 */
export const doctor = (
  flags: ModelFlags & { readonly cwd: Option.Option<string>; readonly json: boolean }
): Effect.Effect<void, CommandError.CommandError, Host | Signals> =>
  Effect.gen(function*() {
    const host = yield* Host
    const places = yield* Places.find({ cwd: Option.getOrUndefined(flags.cwd) })
    const findings = (yield* Effect.all([
      keys,
      model(flags),
      reachable(flags),
      osSandbox,
      ripgrep,
      database(places),
      weakened(places)
    ], { concurrency: "unbounded" })).flat()
    const all = [
      { name: "node", state: "ok" as const, text: process.version },
      project(places),
      ...findings,
      ...verdicts
    ]
    yield* host.write(
      flags.json
        ? JsonOutput.line({ type: "Doctor", version: JsonOutput.version, findings: all })
        : all.map(({ name, state, text }) => `${mark[state]} ${name.padEnd(12)} ${text}\n`).join("")
    )
    if (all.some(({ state }) => state === "broken")) return yield* CommandError.ended(1, "Doctor")
  })

const mark = { ok: "✓", none: "-", broken: "✗" } as const

const project = ({ cwd, root }: Places.Places): Finding => ({
  name: "project",
  state: "ok",
  text: cwd === root ? root : `${root} (working in ${cwd})`
})

const keys: Effect.Effect<Finding, never, Host> = Effect.map(Host, ({ environment }) => {
  const vendorKeys = ModelChoice.keysFound(environment).map((vendor) => ModelChoice.vendors[vendor].keyName)
  const found = [...vendorKeys, ...(environment["CAPSTAN_API_KEY"] ? ["CAPSTAN_API_KEY"] : [])]
  return found.length === 0
    ? { name: "keys", state: "none", text: "none of ANTHROPIC_API_KEY, OPENAI_API_KEY, CAPSTAN_API_KEY is set" }
    : { name: "keys", state: "ok", text: `${found.join(", ")} set` }
})

const model = (flags: ModelFlags): Effect.Effect<Finding, never, Host> =>
  Effect.map(Host, ({ environment }): Finding =>
    Either.match(ModelChoice.make(flags, environment), {
      onLeft: (text) => ({ name: "model", state: "none", text }),
      onRight: (choice) => ({
        name: "model",
        state: choice._tag === "Search" ? "none" : "ok",
        text: choiceText(choice)
      })
    }))

const choiceText = (choice: ModelChoice.ModelChoice): string => {
  switch (choice._tag) {
    case "Vendor":
      return `${choice.provider}/${choice.model}${choice.baseUrl === undefined ? "" : ` at ${choice.baseUrl}`}`
    case "Compatible":
      return `compatible/${choice.model ?? "the first that the server lists"} at ${choice.baseUrl}`
    case "Scripted":
      return `scripted/${choice.file}`
    case "Search":
      return "nothing chooses one: a local server is used if one answers"
  }
}

/** Asks for nothing but an answer of whatever kind, without a key. */
const answers = (url: string): Effect.Effect<boolean> =>
  Effect.tryPromise((signal) => fetch(url, { method: "HEAD", signal, redirect: "manual" })).pipe(
    Effect.timeout("3 seconds"),
    Effect.isSuccess
  )

const reachable = (flags: ModelFlags): Effect.Effect<ReadonlyArray<Finding>, never, Host> =>
  Effect.gen(function*() {
    const { environment } = yield* Host
    const vendors = yield* Effect.forEach(ModelChoice.keysFound(environment), (vendor) =>
      Effect.map(answers(ModelChoice.vendors[vendor].origin), (up): Finding => ({
        name: vendor,
        state: up ? "ok" : "none",
        text: `${ModelChoice.vendors[vendor].origin} ${
          up ? "answers" : "does not answer: look at the network or the proxy"
        }`
      })), { concurrency: "unbounded" })
    const named = Option.isNone(flags.baseUrl) ? [] : [yield* server(flags.baseUrl.value)]
    const found = yield* LocalServers.search
    const local = found.map(({ baseUrl, models, name }): Finding => ({
      name,
      state: "ok",
      text: `${baseUrl} serves ${models.slice(0, 5).join(", ")}${
        models.length > 5 ? ` and ${models.length - 5} more` : ""
      }`
    }))
    return [
      ...vendors,
      ...named,
      ...(local.length === 0
        ? [{
          name: "local",
          state: "none" as const,
          text: `no server answers at ${
            LocalServers.usual.map(({ baseUrl }) => baseUrl).join(", ")
          }`
        }]
        : local)
    ]
  })

const server = (baseUrl: string): Effect.Effect<Finding> =>
  LocalServers.models({ baseUrl, key: undefined, timeout: "3 seconds" }).pipe(Effect.match({
    onFailure: ({ message }): Finding => ({ name: "server", state: "none", text: `${baseUrl}: ${message}` }),
    onSuccess: (models): Finding => ({
      name: "server",
      state: "ok",
      text: `${baseUrl} serves ${models.slice(0, 5).join(", ")}`
    })
  }))

const osSandbox: Effect.Effect<Finding> = Effect.map(
  BubblewrapProbe.probe(),
  (found): Finding =>
    found._tag === "Available"
      ? {
        name: "os sandbox",
        state: "ok",
        text: `bubblewrap ${found.version}: commands see the project only, and no network`
      }
      : { name: "os sandbox", state: "none", text: found.message }
)

const ripgrep: Effect.Effect<Finding> = Effect.tryPromise(async () => {
  const { rgPath } = await import("@vscode/ripgrep")
  return fs.existsSync(rgPath)
}).pipe(
  Effect.orElseSucceed(() => false),
  Effect.map((found): Finding =>
    found
      ? { name: "ripgrep", state: "ok", text: "found" }
      : { name: "ripgrep", state: "broken", text: "not installed for this system: install the dependencies again" }
  )
)

const database = (places: Places.Places): Effect.Effect<Finding> =>
  Effect.flatMap(Journal, (journal) => journal.sessions({ project: undefined })).pipe(
    Effect.provide(Composition.stored(places)),
    Effect.match({
      onFailure: ({ message }): Finding => ({ name: "database", state: "broken", text: CommandError.oneLine(message) }),
      onSuccess: ({ length }): Finding => ({
        name: "database",
        state: "ok",
        text: `${places.database}, ${length} session${length === 1 ? "" : "s"}`
      })
    })
  )

const weakened = (places: Places.Places): Effect.Effect<ReadonlyArray<Finding>, never, Host | Signals> =>
  Effect.map(Sandbox, ({ weakened }) =>
    weakened.length === 0
      ? [{ name: "weakened", state: "ok" as const, text: "nothing" }]
      : weakened.map((line) => ({ name: "weakened", state: "none" as const, text: CommandError.oneLine(line) }))).pipe(
      Effect.provide(Composition.sandbox({ places, addDir: [] })),
      Effect.catchAll(({ message }) => Effect.succeed([{ name: "sandbox", state: "broken" as const, text: message }]))
    )

const byDefault: { readonly [S in Safety]: "runs" | "asks" } = {
  "read-only": "runs",
  "side-effect": "asks",
  privileged: "asks"
}

const verdicts: ReadonlyArray<Finding> = (["runs", "asks"] as const).map((verdict) => ({
  name: verdict,
  state: "ok",
  text: Composition.builtIn.filter(({ safety }) => byDefault[safety] === verdict)
    .map(({ definition }) => definition.name).sort().join(", ")
}))
