import { CommandPolicy } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { afterAll } from "vitest"

/** Programs that run unasked, and others that must never be among them; each says that it ran, and does nothing. */
const reading = ["ls", "cat", "grep", "head", "wc", "sort", "find", "uname", "date", "sed"]
const builtins = ["echo", "pwd", "true"]
const others = ["touch", "rm", "sh", "evil", "git", "npm", "env", "xargs", "a", "b", "tee", "awk"]

const root = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "capstan-attacks-")))
const bin = Path.join(root, "bin")
const scratch = Path.join(root, "scratch")
const log = Path.join(root, "log")
Fs.mkdirSync(bin)
Fs.mkdirSync(scratch)
for (const name of [...reading, ...others]) {
  Fs.writeFileSync(Path.join(bin, name), `#!/bin/bash\necho "\${0##*/}" >> ${log}\n`, { mode: 0o755 })
}
afterAll(() => Fs.rmSync(root, { recursive: true, force: true }))

/** What bash really runs of these lines, and what files it makes. */
const ranBy = (lines: ReadonlyArray<string>) => {
  Fs.writeFileSync(log, "")
  Fs.writeFileSync(Path.join(root, "lines"), lines.map((line) => `${line}\0`).join(""))
  spawnSync("/bin/bash", [
    "--noprofile",
    "--norc",
    "-c",
    `while IFS= read -r -d '' line; do /bin/bash --noprofile --norc -c "$line"; done < ${root}/lines`
  ], { cwd: scratch, env: { PATH: bin, X: "touch evil" }, stdio: "ignore" })
  return {
    programs: new Set(Fs.readFileSync(log, "utf8").split("\n").filter((name) => name !== "")),
    made: Fs.readdirSync(scratch)
  }
}

const plain = FastCheck.tuple(
  FastCheck.constantFrom(...reading, ...builtins, ...others.slice(0, 4)),
  FastCheck.array(FastCheck.constantFrom("a", "b/c", "-l", "-n", "'x y'", "\"z\"", "--", "-", "1,2p", "*.ts", "+%F"), {
    maxLength: 3
  })
).map(([name, args]) => [name, ...args])
const hostile = FastCheck.constantFrom(
  ..."; & | && || ! ( ) { } < > << <<< >& &> |& $ $( ${ ` ' \" \\ # * ? [ ] ~ = X= $X ${X} $((1)) {a,b} $'a' <( >( ;; \n \r \t \v"
    .split(" "),
  "\n",
  "\r",
  "\t",
  "\v",
  "\u00A0",
  "\u2028",
  "\u200B",
  "\\\n",
  "touch evil",
  "$(touch evil)",
  "`touch evil`",
  "sh -c",
  "-exec touch {} +",
  "--compress-program=touch",
  "<<EOF\ntouch evil\nEOF\n",
  "if",
  "then",
  "do",
  "done",
  "fi",
  "time",
  "function f {",
  "f() {",
  "eval",
  "export",
  "cd"
)
const joint = FastCheck.constantFrom(" ", " ", "; ", " && ", " | ", " || ")
const line = FastCheck.tuple(
  FastCheck.array(FastCheck.tuple(plain, joint), { minLength: 1, maxLength: 3 }),
  FastCheck.array(FastCheck.tuple(FastCheck.nat(), hostile, FastCheck.boolean()), { maxLength: 2 })
).map(([commands, inserted]) => {
  const words = commands.flatMap(([command, join]) => [...command.flatMap((word) => [word, " "]), join])
  for (const [at, piece, loose] of inserted) words.splice(at % words.length, 0, loose ? ` ${piece} ` : piece)
  return words.join("").replace(/(?: |;|&&|\|)+$/, "")
})

describe.skipIf(!Fs.existsSync("/bin/bash"))("what bash really runs", () => {
  it.prop(
    "of lines that run unasked are accepted programs only",
    { lines: FastCheck.array(line, { minLength: 250, maxLength: 250 }) },
    ({ lines }) => {
      const unasked = lines.filter((one) => CommandPolicy.judge(one).class === "read-only")
      expect(unasked.length).toBeGreaterThan(10)
      const { made, programs } = ranBy(unasked)
      expect([...programs].filter((name) => !reading.includes(name))).toEqual([])
      expect(made).toEqual([])
    },
    { fastCheck: { numRuns: 4 } }
  )

  it.prop(
    "of lines that a list lets through are programs on the list only",
    { lines: FastCheck.array(line, { minLength: 250, maxLength: 250 }) },
    ({ lines }) => {
      const list = [...reading, ...builtins].flatMap((name) => [`${name} *`])
      const through = lines.filter((one) => CommandPolicy.covers(one, ...list))
      expect(through.length).toBeGreaterThan(10)
      const { programs } = ranBy(through)
      expect([...programs].filter((name) => !reading.includes(name))).toEqual([])
      for (const name of Fs.readdirSync(scratch)) Fs.rmSync(Path.join(scratch, name), { recursive: true })
    },
    { fastCheck: { numRuns: 4 } }
  )

  it.prop(
    "of lines that no deny entry concerns is nothing that one names",
    { lines: FastCheck.array(line, { minLength: 120, maxLength: 120 }) },
    ({ lines }) => {
      const free = lines.filter((one) => !CommandPolicy.touches(one, "touch *"))
      expect(free.length).toBeGreaterThan(10)
      expect(ranBy(free).programs.has("touch")).toBe(false)
      for (const name of Fs.readdirSync(scratch)) Fs.rmSync(Path.join(scratch, name), { recursive: true })
    },
    { fastCheck: { numRuns: 4 } }
  )
})
