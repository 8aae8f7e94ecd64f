/**
 * Bundles the command line for a quick start: a small entry (`dist/bin.js`, from `src/bin.ts`) and chunks in CommonJS that
 * are loaded when they are used, each with V8's code cache. Takes the sources, so that no build is needed before; the
 * folder can be given (`bundle.mjs <dist>`).
 */
import { build, transform } from "esbuild"
import { execFileSync } from "node:child_process"
import fs from "node:fs/promises"
import { builtinModules } from "node:module"
import path from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"

const cli = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const packages = path.dirname(cli)
const dist = path.resolve(process.argv[2] ?? path.join(cli, "dist"))
const folder = path.join(dist, "bundle")
const target = "node20.19"

/** What has native parts or programs in it stays a dependency beside the bundle. */
const external = ["better-sqlite3", "@vscode/ripgrep", ...builtinModules.flatMap((name) => [name, `node:${name}`])]

/** Workspace packages by their sources, and Effect's barrels by the modules that are meant. */
const sources = {
  name: "sources",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^@capstan\// }, ({ path: specifier }) => {
      const [, name, module = "index"] = /^@capstan\/([a-z]+)(?:\/(.+))?$/.exec(specifier)
      return { path: path.join(packages, name, "src", `${module}.ts`), sideEffects: false }
    })
  }
}

const { outputFiles } = await build({
  entryPoints: { Main: path.join(cli, "src", "Main.ts") },
  outdir: folder,
  bundle: true,
  splitting: true,
  write: false,
  format: "esm",
  platform: "node",
  target,
  conditions: ["import"],
  mainFields: ["module", "main"],
  external,
  plugins: [sources],
  treeShaking: true,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "linked",
  chunkNames: "chunk-[hash]",
  logLevel: "warning"
})

const toCommonJs = async (text) => {
  const { code } = await transform(text, {
    format: "cjs",
    platform: "node",
    target,
    minifySyntax: true,
    minifyWhitespace: true
  })
  return code
    .replace(/require\("(\.\/[^"]+)\.js"\)/g, "require(\"$1.cjs\")")
    .replace(/\bimport\("(\.\/[^"]+)\.js"\)/g, "Promise.resolve().then(()=>require(\"$1.cjs\"))")
    .replace(/\bimport\(/g, "importOutside(")
}

await fs.rm(folder, { recursive: true, force: true })
await fs.mkdir(folder, { recursive: true })
for (const { path: file, text } of outputFiles) {
  if (file.endsWith(".js")) await fs.writeFile(file.replace(/\.js$/, ".cjs"), await toCommonJs(text))
  else await fs.writeFile(file, text)
}
await fs.copyFile(path.join(cli, "scripts", "load.cjs"), path.join(folder, "load.cjs"))

const entry = path.join(dist, "bin.js")
const { code } = await transform(await fs.readFile(path.join(cli, "src", "bin.ts"), "utf8"), {
  loader: "ts",
  format: "esm",
  target
})
await fs.writeFile(entry, code.replace("../package.json", path.relative(dist, path.join(cli, "package.json"))))
await fs.chmod(entry, 0o755)

execFileSync(process.execPath, [path.join(folder, "load.cjs")], { stdio: "inherit" })
