/** The files that patches are tried on in a program of its own, and what they look like. */
import * as Fs from "node:fs"
import * as Path from "node:path"

/** What is there before, in two folders, one file with two names. */
export const plant = (root: string): void => {
  for (
    const [path, content, mode] of [
      ["a.sh", "one\ntwo\n", 0o750],
      ["dir/b.txt", "one\r\ntwo\r\n", 0o604],
      ["c", "", 0o600],
      ["other", "other\n", 0o644]
    ] as const
  ) {
    const file = Path.join(root, path)
    Fs.mkdirSync(Path.dirname(file), { recursive: true })
    Fs.writeFileSync(file, content)
    Fs.chmodSync(file, mode)
    Fs.utimesSync(file, 1_600_000_000.25, 1_500_000_000.125)
  }
  Fs.linkSync(Path.join(root, "dir/b.txt"), Path.join(root, "dir/second"))
}

/** Files to read before a patch. */
export const existing = ["a.sh", "dir/b.txt", "c"]

/** A patch over files that are there and new ones, in old and new folders. */
export const patch =
  "LP1\nF a.sh\nR\none\n.\n1\n.\nF new/deep/d\nT\nd\n.\nF dir/b.txt\nT\nlast\n.\nF c\nB\nx\n.\nF new/e\nB\ne\n.\nEND\n"

/** What the patch makes of them. */
export const after: Readonly<Record<string, string>> = {
  "a.sh": "1\ntwo\n",
  "new/deep/d": "d\n",
  "dir/b.txt": "one\r\ntwo\r\nlast\r\n",
  c: "x",
  "new/e": "e\n"
}

/** Everything below a folder by path: kind and mode, and of files the time of change and the bytes. */
export const snapshot = (root: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Fs.readdirSync(root, { recursive: true, withFileTypes: true }).map((entry) => {
      const path = Path.join(entry.parentPath, entry.name)
      const { mode, mtimeNs } = Fs.lstatSync(path, { bigint: true })
      return [
        Path.relative(root, path),
        entry.isFile() ? `${mode} ${mtimeNs} ${Fs.readFileSync(path).toString("hex")}` : String(mode)
      ]
    })
  )
