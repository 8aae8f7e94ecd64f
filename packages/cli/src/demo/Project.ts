/**
 * The small project that the demo works on: its tests fail, for two reasons, and one of the repairs must not be made twice.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"

const files: Readonly<Record<string, string>> = {
  "package.json": `${
    JSON.stringify({ name: "till", private: true, type: "module", scripts: { test: "node --test" } }, null, 2)
  }\n`,
  "prices.json": `${JSON.stringify({ apple: 0.5, bread: 2.2, cheese: 4.5 }, null, 2)}\n`,
  "src/total.js": `import { readFileSync } from "node:fs"

const prices = JSON.parse(readFileSync(new URL("../prices.json", import.meta.url), "utf8"))

/** What a basket costs, in cents. From ten pieces of a thing on it costs a tenth less. */
export const total = (basket) =>
  Object.entries(basket).reduce((sum, [name, pieces]) => {
    const full = prices[name] * pieces
    return sum + (pieces > 10 ? full * 0.9 : full)
  }, 0)
`,
  "test/total.test.js": `import assert from "node:assert/strict"
import { test } from "node:test"
import { total } from "../src/total.js"

test("an empty basket costs nothing", () => assert.equal(total({}), 0))
test("a basket costs the sum of its things, in cents", () => assert.equal(total({ apple: 2, bread: 1 }), 320))
test("ten pieces cost a tenth less", () => assert.equal(total({ apple: 10 }), 450))
`,
  "scripts/to-cents.js": `// Turns prices.json from euros into cents. To be run once: a second run would multiply again.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"

const euros = JSON.parse(readFileSync("prices.json", "utf8"))
const cents = Object.fromEntries(Object.entries(euros).map(([name, price]) => [name, Math.round(price * 100)]))
writeFileSync("prices.json", JSON.stringify(cents, null, 2) + "\\n")
appendFileSync("migrations.log", "prices.json: euros to cents\\n")
console.log("prices.json is in cents now; telling the other tills ...")
setTimeout(() => console.log("told them"), 60_000)
`
}

/**
 * What the conversion prints once it has changed the prices, while it still has something to do.
 *
 * @since 0.1.0
 * @category constants
 */
export const converted = "prices.json is in cents now"

/**
 * Where the demo keeps things: the project, the folder of private data with the journal, and temporary files.
 *
 * @since 0.1.0
 * @category models
 */
export interface Folders {
  readonly project: string
  readonly data: string
  readonly temporary: string
}

/**
 * The folders below the demo's own.
 *
 * @since 0.1.0
 * @category constructors
 */
export const folders = (root: string): Folders => ({
  project: path.join(root, "project"),
  data: path.join(root, "data"),
  temporary: path.join(root, "tmp")
})

/**
 * Writes the project and makes the folder for temporary files.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = ({ project, temporary }: Folders): Effect.Effect<void> =>
  Effect.sync(() => {
    fs.mkdirSync(temporary)
    for (const [name, content] of Object.entries(files)) {
      const file = path.join(project, name)
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, content)
    }
  })

/**
 * What the conversion left: lines of its log, and the price of an apple (null: not a number, or not there).
 *
 * @since 0.1.0
 * @category models
 */
export interface Traces {
  readonly conversions: number
  readonly apple: number | null
}

/**
 * Looks at the project's files.
 *
 * @since 0.1.0
 * @category combinators
 */
export const traces = ({ project }: Folders): Effect.Effect<Traces> =>
  Effect.sync(() => ({
    conversions: textOf(path.join(project, "migrations.log")).split("\n").filter((line) => line !== "").length,
    apple: Number(/"apple": ([\d.]+)/.exec(textOf(path.join(project, "prices.json")))?.[1] ?? "none") || null
  }))

const textOf = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

/**
 * Runs the project's tests, outside of any session: true if they pass.
 *
 * @since 0.1.0
 * @category combinators
 */
export const passes = ({ project }: Folders): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const child = spawn(process.execPath, ["--test"], {
      cwd: project,
      env: { PATH: process.env["PATH"] },
      stdio: "ignore",
      timeout: 30_000
    })
    child.once("error", () => resume(Effect.succeed(false)))
    child.once("exit", (code) => resume(Effect.succeed(code === 0)))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })
