import { readFileSync } from "node:fs"
import { expect, it } from "vitest"

interface Locked {
  readonly resolved?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const lockfile: { readonly packages: Readonly<Record<string, Locked>> } = JSON.parse(
  readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")
)
const entries = Object.entries(lockfile.packages)

it("the lockfile names no registry", () => {
  expect(entries.filter(([, { resolved }]) => resolved?.includes("://")).map(([path]) => path)).toEqual([])
})

// `npm ci` refuses a lockfile that was written where some platform's package could not be seen.
it("the lockfile has the native packages of every platform", () => {
  const missing = entries.flatMap(([, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !entries.some(([path]) => path.endsWith(`node_modules/${name}`)))
  )
  expect(missing).toEqual([])
})
