import * as Fs from "node:fs"

/** The calls that change something on disk. A record, so that a test can let the n-th of them fail. */
export interface SystemCalls {
  readonly open: (path: string, flags: number, mode?: number) => number
  readonly write: (fd: number, content: Uint8Array, at: number) => number
  readonly fsync: (fd: number) => void
  readonly rename: (from: string, to: string) => void
  readonly link: (from: string, to: string) => void
  readonly unlink: (path: string) => void
  readonly mkdir: (path: string) => void
  readonly rmdir: (path: string) => void
}

/** Those of the system. */
export const system: SystemCalls = {
  open: Fs.openSync,
  write: (fd, content, at) => Fs.writeSync(fd, content, at),
  fsync: Fs.fsyncSync,
  rename: Fs.renameSync,
  link: Fs.linkSync,
  unlink: Fs.unlinkSync,
  mkdir: (path) => {
    Fs.mkdirSync(path)
  },
  rmdir: Fs.rmdirSync
}
