#!/usr/bin/env node
/**
 * The entry of the command: answers `--version` before anything else is loaded, then loads the command line, from the
 * bundle with its cached code where there is one.
 */
import { createRequire } from "node:module"
import process from "node:process"
import type * as Main from "./Main.js"

const require = createRequire(import.meta.url)

/** The bundle's loader (see `scripts/bundle.mjs`), or the modules one by one. */
const load = async (): Promise<Pick<typeof Main, "main">> => {
  try {
    return require("./bundle/load.cjs")
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return import("./Main.js")
    throw error
  }
}

const { version }: { readonly version: string } = require("../package.json")
const argv = process.argv.slice(2)

if (argv.length === 1 && argv[0] === "--version") {
  process.stdout.write(`${version}\n`)
} else {
  const { main } = await load()
  const code = await main({ argv, version })
  process.exitCode = code
  // What was printed has to be out; what still holds the event loop (an idle connection) need not be waited for.
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)))
}
