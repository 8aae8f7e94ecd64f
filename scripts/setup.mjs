/**
 * Makes a working copy ready: installs what the lockfile says and builds what changed.
 * Needs nothing but Node, because it runs before anything is installed, and does
 * nothing that is already done, so that every other script can start with it.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

/** The repository's root folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const stampFile = join(root, "node_modules/.cache/capstan/build")

/**
 * @param {string} file
 * @returns {Record<string, { version?: string, link?: boolean, optional?: boolean, devOptional?: boolean, peer?: boolean }>}
 */
const lockedPackages = (file) => JSON.parse(readFileSync(file, "utf8")).packages

/** Compares with the record that npm leaves as the last step of an install. */
const isInstalled = () => {
  const record = join(root, "node_modules/.package-lock.json")
  if (!existsSync(record)) return false
  const installed = lockedPackages(record)
  return Object.entries(lockedPackages(join(root, "package-lock.json"))).every(([path, wanted]) =>
    !path.startsWith("node_modules/") || wanted.optional === true || wanted.devOptional === true ||
    (installed[path] !== undefined && installed[path].version === wanted.version)
  )
}

/**
 * @param {string} folder
 * @returns {Array<string>}
 */
const filesBelow = (folder) =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)]
    )
    : []

const packageFolders = () => readdirSync(join(root, "packages")).map((name) => join(root, "packages", name))

const buildStamp = () => {
  const hash = createHash("sha256")
  const inputs = [
    ...["package-lock.json", "tsconfig.base.json", "tsconfig.json"].map((name) => join(root, name)),
    ...packageFolders().flatMap((folder) => [
      ...["package.json", "tsconfig.json"].map((name) => join(folder, name)),
      ...filesBelow(join(folder, "src")),
      ...filesBelow(join(folder, "scripts"))
    ])
  ]
  for (const file of inputs.filter(existsSync).toSorted()) {
    hash.update(relative(root, file)).update("\0").update(readFileSync(file)).update("\0")
  }
  return hash.digest("hex")
}

/** @param {string} stamp */
const isBuilt = (stamp) =>
  existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp &&
  packageFolders().every((folder) => existsSync(join(folder, "dist/index.js")))

/** Native packages compile without a download when this Node brought its headers along. */
const npmEnvironment = () => {
  const prefix = dirname(dirname(process.execPath))
  return existsSync(join(prefix, "include/node/node_version.h"))
    ? { npm_config_nodedir: prefix, ...process.env }
    : process.env
}

/** @param {ReadonlyArray<string>} args */
const npm = (args) => {
  // Progress goes to stderr: stdout belongs to the script that asked for the set-up.
  const { status } = spawnSync("npm", args, {
    cwd: root,
    env: npmEnvironment(),
    shell: process.platform === "win32",
    stdio: ["ignore", 2, 2]
  })
  if (status !== 0) {
    console.error(`\nset-up stopped: \`npm ${args.join(" ")}\` failed (see above)`)
    process.exit(status ?? 1)
  }
}

/** Installs and builds when needed; ends the process with npm's exit code when that fails. */
export const setup = () => {
  if (!isInstalled()) {
    console.error("Installing the dependencies (only this time) …")
    npm(["ci", "--no-audit", "--no-fund"])
  }
  const stamp = buildStamp()
  if (!isBuilt(stamp)) {
    console.error("Building …")
    npm(["run", "--silent", "build"])
    mkdirSync(dirname(stampFile), { recursive: true })
    writeFileSync(stampFile, stamp)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) setup()
