/** Imported first by a program of its own: calls that change the disk are counted, and one of them can be made to end. */
import Fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"

let number = 0
let failing = 0
let end: () => void = () => undefined

const counted = <Args extends ReadonlyArray<unknown>, A>(
  call: (...args: Args) => A,
  changes: (...args: Args) => boolean = () => true
) =>
(...args: Args): A => {
  if (changes(...args) && ++number === failing) end()
  return call(...args)
}

Object.assign(Fs, {
  openSync: counted(Fs.openSync, (_, flags) => typeof flags === "number" && (flags & Fs.constants.O_CREAT) !== 0),
  writeSync: counted(Fs.writeSync),
  fsyncSync: counted(Fs.fsyncSync),
  renameSync: counted(Fs.renameSync),
  linkSync: counted(Fs.linkSync),
  unlinkSync: counted(Fs.unlinkSync),
  mkdirSync: counted(Fs.mkdirSync),
  rmdirSync: counted(Fs.rmdirSync),
  fchmodSync: counted(Fs.fchmodSync)
})
syncBuiltinESMExports()

/** From now on the calls are counted from 1, and `how` is done at the n-th. */
export const arm = (n: number, how: () => void): void => {
  number = 0
  failing = n
  end = how
}

/** How many calls there were since. */
export const calls = (): number => number
