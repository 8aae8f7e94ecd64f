/**
 * Loads the chunks of the bundle, with V8's code cache where it fits this version of Node (elsewhere they are compiled as
 * usual). As a program it writes these caches, and the help of each command, which is printed from then on without loading
 * anything.
 */
"use strict"
const fs = require("node:fs")
const path = require("node:path")
const vm = require("node:vm")

const { version } = require("@capstan/cli/package.json")
const loaded = new Map()
const scripts = new Map()

/** Code with a cache cannot import by itself; what it imports is beside the bundle. */
const importOutside = (specifier) => import(specifier)

const wrap = (code) => `(function(exports,require,module,__filename,__dirname,importOutside){${code}\n})`

const cacheOf = (filename) => {
  try {
    return fs.readFileSync(`${filename}.cache`)
  } catch {
    return undefined
  }
}

const load = (name) => {
  const known = loaded.get(name)
  if (known !== undefined) return known.exports
  const filename = path.join(__dirname, name)
  const script = new vm.Script(wrap(fs.readFileSync(filename, "utf8")), { filename, cachedData: cacheOf(filename) })
  const module = { exports: {} }
  loaded.set(name, module)
  scripts.set(filename, script)
  script.runInThisContext()(module.exports, requireInside, module, filename, __dirname, importOutside)
  return module.exports
}

const requireInside = Object.assign(
  (specifier) =>
    specifier.startsWith("./") && specifier.endsWith(".cjs") ? load(specifier.slice(2)) : require(specifier),
  require
)

/** What is printed by a command line, as to a terminal with colours. */
const printedBy = async (argv) => {
  const { write } = process.stdout
  let text = ""
  process.stdout.write = (chunk, done) => {
    text += chunk
    if (typeof done === "function") done()
    return true
  }
  await load("Main.cjs").main({ argv, version })
  process.stdout.write = write
  return text
}

/** The help of every command is the same each time: it is printed once, here. */
const writeHelp = async () => {
  const { commands } = load("Main.cjs")
  const texts = {}
  for (const words of commands) texts[words.join(" ")] = await printedBy([...words, "--help"])
  fs.writeFileSync(path.join(__dirname, "help.json"), JSON.stringify(texts))
}

const writeCaches = () => {
  for (const name of fs.readdirSync(__dirname)) {
    if (name.endsWith(".cjs") && name !== path.basename(__filename)) load(name)
  }
  for (const [filename, script] of scripts) fs.writeFileSync(`${filename}.cache`, script.createCachedData())
}

const helpOf = (argv) => {
  const last = argv.at(-1)
  const words = last === "--help" || last === "-h" ? argv.slice(0, -1) : argv.length === 0 ? argv : undefined
  if (words === undefined) return undefined
  return JSON.parse(fs.readFileSync(path.join(__dirname, "help.json"), "utf8"))[words.join(" ")]
}

const main = async (options) => {
  const help = helpOf(options.argv)
  if (help === undefined) return load("Main.cjs").main(options)
  process.stdout.write(help)
  return 0
}

if (require.main === module) void writeHelp().then(writeCaches).then(() => process.exit(0))
else module.exports = { main }
