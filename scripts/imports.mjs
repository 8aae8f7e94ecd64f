/** The imports of the packages as their sources state them, for the direction test and the picture. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import ts from "typescript"
import { root } from "./setup.mjs"

/**
 * @typedef {object} Import
 * @property {string} package the package that imports, such as "core"
 * @property {string} file its file, relative to the repository's root
 * @property {string} specifier the text between the quotes; a relative one is made relative to the root
 */

/** @returns {Array<string>} the names of the packages' folders */
export const packageNames = () => readdirSync(join(root, "packages")).toSorted()

/**
 * Reads `import`, `export … from`, `import type` and `import()`.
 *
 * @param {string} name the package
 * @param {string} file relative to the root
 * @param {string} text the source
 * @returns {Array<Import>}
 */
export const importsOf = (name, file, text) =>
  ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => ({
    package: name,
    file,
    specifier: fileName.startsWith(".")
      ? join(dirname(file), fileName).replace(/\.js$/, ".ts")
      : fileName
  }))

/**
 * @param {"src" | "test"} folder
 * @returns {Array<{ package: string, file: string, text: string }>}
 */
export const sourceFiles = (folder) =>
  packageNames().flatMap((name) => {
    const base = join(root, "packages", name, folder)
    return listing(base).filter((file) => /\.tsx?$/.test(file)).toSorted().map((file) => ({
      package: name,
      file: relative(root, join(base, file)).replaceAll("\\", "/"),
      text: readFileSync(join(base, file), "utf8")
    }))
  })

/**
 * @param {string} folder
 * @returns {Array<string>}
 */
const listing = (folder) => {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
  } catch {
    return []
  }
}

/**
 * @param {"src" | "test"} folder
 * @returns {Array<Import>}
 */
export const readImports = (folder) =>
  sourceFiles(folder).flatMap(({ package: name, file, text }) => importsOf(name, file, text))
