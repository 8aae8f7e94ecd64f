import * as fs from "node:fs"

/** Folders that belong to the system. A project may put anything into the PATH, and these programs run unconfined. */
const folders = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin", "/opt/homebrew/bin"]

/** The absolute path of a program of the system. */
export const find = (name: string): string | undefined =>
  folders.map((folder) => `${folder}/${name}`).find((candidate) => fs.existsSync(candidate))
