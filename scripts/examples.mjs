/** `npm run examples`: every example in the README, the guides and the sources compiles. */
import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./setup.mjs"

const folder = join(root, "node_modules", ".examples")

/**
 * @param {string} directory
 * @param {string} ending
 * @returns {ReadonlyArray<string>}
 */
const filesBelow = (directory, ending) =>
  readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(directory, name))

/** @param {string} file */
const inProse = (file) =>
  [...readFileSync(join(root, file), "utf8").matchAll(/^```ts\n([^]*?)^```/gm)].map((match) => match[1] ?? "")

/** @param {string} file */
const inSources = (file) =>
  [...readFileSync(join(root, file), "utf8").matchAll(/^ *\* @example\n((?: *\*.*\n)*?)(?= *\* @| *\*\/)/gm)]
    .map((match) => (match[1] ?? "").replace(/^ *\* ?/gm, ""))

const examples = [
  ...["README.md", ...filesBelow("docs", ".md")].flatMap((file) => inProse(file).map((code) => ({ file, code }))),
  ...readdirSync(join(root, "packages"))
    .flatMap((name) => filesBelow(join("packages", name, "src"), ".ts"))
    .flatMap((file) => inSources(file).map((code) => ({ file, code })))
]

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const count = new Map()
for (const { code, file } of examples) {
  const n = (count.get(file) ?? 0) + 1
  count.set(file, n)
  writeFileSync(join(folder, `${file.replace(/[^a-zA-Z0-9]+/g, "-")}-${n}.ts`), code)
}
writeFileSync(
  join(folder, "tsconfig.json"),
  JSON.stringify({
    extends: "../../tsconfig.base.json",
    compilerOptions: {
      noEmit: true,
      composite: false,
      declaration: false,
      declarationMap: false,
      types: ["node"],
      erasableSyntaxOnly: false
    },
    include: ["*.ts"]
  })
)
writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))

const { status } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder], {
  stdio: "inherit"
})
if (status === 0) console.log(`${examples.length} examples in ${count.size} files compile`)
process.exitCode = examples.length === 0 ? 1 : status ?? 1
