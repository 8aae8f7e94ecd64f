/**
 * Draws the packages in `docs/architecture.md` from the imports that the sources really have.
 * `--check` writes nothing and fails when the picture is out of date.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { packageNames, readImports } from "./imports.mjs"
import { root } from "./setup.mjs"

const page = join(root, "docs/architecture.md")
const begin = "<!-- picture: written by `npm run picture` -->"
const end = "<!-- /picture -->"

/** An arrow that a longer way shows already is left out. */
const direct = (/** @type {ReadonlyMap<string, ReadonlySet<string>>} */ uses) => {
  /** @type {(from: string, to: string) => boolean} */
  const reaches = (from, to) => [...(uses.get(from) ?? [])].some((next) => next === to || reaches(next, to))
  return [...uses].flatMap(([from, targets]) =>
    [...targets].filter((to) => ![...targets].some((other) => other !== to && reaches(other, to))).map((
      to
    ) => [from, to])
  )
}

const picture = () => {
  const uses = new Map(packageNames().map((name) => [name, /** @type {Set<string>} */ (new Set())]))
  for (const { package: name, specifier } of readImports("src")) {
    const target = /^@capstan\/([^/]+)/.exec(specifier)?.[1]
    if (target !== undefined) uses.get(name)?.add(target)
  }
  const lines = [
    ...packageNames().map((name) => `  ${name}["@capstan/${name}"]`),
    ...direct(uses).toSorted().map(([from, to]) => `  ${from} --> ${to}`)
  ]
  return ["```mermaid", "flowchart TD", ...lines, "```"].join("\n")
}

const text = readFileSync(page, "utf8")
const [before, rest] = text.split(begin)
const after = rest?.split(end)[1]
if (before === undefined || after === undefined) {
  throw new Error(`docs/architecture.md has lost its marks: ${begin} and ${end}`)
}
const next = `${before}${begin}\n\n${picture()}\n\n${end}${after}`

if (next !== text && process.argv.includes("--check")) {
  console.error("docs/architecture.md: the picture is out of date; run `npm run picture`")
  process.exitCode = 1
} else if (next !== text) {
  writeFileSync(page, next)
}
