import * as Fs from "node:fs"
import * as Path from "node:path"
import type { SystemCalls } from "../src/internal/systemCalls.js"

/** Calls that change the disk, each counted and run by `each`, which may fail or do something else instead. */
export const counted = (
  calls: SystemCalls,
  each: <A>(number: number, run: () => A) => A
): { readonly calls: SystemCalls; readonly count: () => number } => {
  let number = 0
  const next = <A>(run: () => A): A => each(++number, run)
  return {
    count: () => number,
    calls: {
      open: (path, flags, mode) =>
        (flags & Fs.constants.O_CREAT) === 0
          ? calls.open(path, flags, mode)
          : next(() => calls.open(path, flags, mode)),
      write: (fd, content, at) => next(() => calls.write(fd, content, at)),
      fsync: (fd) => next(() => calls.fsync(fd)),
      rename: (from, to) => next(() => calls.rename(from, to)),
      link: (from, to) => next(() => calls.link(from, to)),
      unlink: (path) => next(() => calls.unlink(path)),
      mkdir: (path) => next(() => calls.mkdir(path)),
      rmdir: (path) => next(() => calls.rmdir(path))
    }
  }
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** What is there before: two files in folders of their own, one of them with two names. */
export const plant = (root: string): void => {
  for (
    const [path, content, mode] of [["a.sh", "old a", 0o750], ["dir/b.txt", "old b", 0o604], ["c", "", 0o400]] as const
  ) {
    const file = Path.join(root, path)
    Fs.mkdirSync(Path.dirname(file), { recursive: true })
    Fs.writeFileSync(file, content)
    Fs.chmodSync(file, mode)
    Fs.utimesSync(file, 1_600_000_000.25, 1_500_000_000.125)
  }
  Fs.linkSync(Path.join(root, "dir/b.txt"), Path.join(root, "dir/second"))
}

/** What is written: files that are there, and new ones in old and new folders. */
export const newContents = [
  { path: "a.sh", content: bytes("new a") },
  { path: "new/deep/d.txt", content: bytes("new d") },
  { path: "dir/b.txt", content: bytes("new b, longer") },
  { path: "dir/e.txt", content: bytes("") },
  { path: "new/f.txt", content: bytes("new f") }
]

/** Everything below a folder: kind, mode, time, number of names and content by path. */
export const snapshot = (root: string, links = true, below = ""): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Fs.readdirSync(Path.join(root, below)).flatMap((name): ReadonlyArray<readonly [string, string]> => {
      const path = Path.join(below, name)
      const stat = Fs.lstatSync(Path.join(root, path))
      return stat.isDirectory()
        ? [[path, "dir"], ...Object.entries(snapshot(root, links, path))]
        : [[
          path,
          `${stat.mode.toString(8)} ${stat.mtimeMs} ${links ? stat.nlink : "-"} ${
            Fs.readFileSync(Path.join(root, path), "hex")
          }`
        ]]
    })
  )
