/**
 * Loads the chunks of the bundle, with V8's code cache where it fits this version of Node (elsewhere they are compiled as
 * usual). `node load.cjs --write-caches` writes the caches.
 */
"use strict"
const fs = require("node:fs")
const Module = require("node:module")
const path = require("node:path")
const vm = require("node:vm")

const outside = Module.createRequire(__filename)
const loaded = new Map()
const scripts = new Map()
const importOutside = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER

const readCache = (file) => {
  try {
    return fs.readFileSync(`${file}.cache`)
  } catch {
    return undefined
  }
}

const load = (name) => {
  const known = loaded.get(name)
  if (known !== undefined) return known.exports
  const filename = path.join(__dirname, name)
  const script = new vm.Script(Module.wrap(fs.readFileSync(filename, "utf8")), {
    filename,
    cachedData: readCache(filename),
    importModuleDynamically: importOutside
  })
  const module = { exports: {}, filename, loaded: false }
  loaded.set(name, module)
  scripts.set(filename, script)
  const inside = (specifier) => specifier.startsWith("./chunk-") || specifier.startsWith("./Main") ||
      fs.existsSync(path.join(__dirname, specifier)) && specifier.startsWith("./")
    ? load(specifier.slice(2))
    : outside(specifier)
  script.runInThisContext()(module.exports, Object.assign(inside, outside), module, filename, __dirname)
  return module.exports
}

const writeCaches = async () => {
  const { main } = load("Main.cjs")
  const write = process.stdout.write
  process.stdout.write = (_text, ...rest) => (rest.find((f) => typeof f === "function")?.(), true)
  await main({ argv: ["run", "--help"], version: "0" })
  process.stdout.write = write
  for (const name of fs.readdirSync(__dirname)) {
    if (name.endsWith(".cjs") && name !== "load.cjs") load(name)
  }
  for (const [filename, script] of scripts) fs.writeFileSync(`${filename}.cache`, script.createCachedData())
  process.exit(0)
}

if (require.main === module) void writeCaches()
else module.exports = { main: (options) => load("Main.cjs").main(options) }
