import { CommandPolicy } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { approvingOthers, attacks, notApproving } from "./commandAttackCases.js"

/** Lists that people write, and that none of the attacks may slip past. */
const allowed: ReadonlyArray<string> = [
  "echo *",
  "cat *",
  "ls *",
  "grep *",
  "find . -name *",
  "git status",
  "git diff *",
  "git log *",
  "npm test",
  "npm run *",
  "node build.js",
  "pwd"
]

/**
 * Those of the attacks that a list lets through because it says so: a star allows any argument, also one that only looks as
 * if it went on, and what is printed may go to a file in the workspace.
 */
const saidSo: ReadonlySet<string> = new Set([
  "ls --hyperlink a --time-style=+evil",
  "cat a>evil",
  "cat a>>evil",
  "cat a>|evil",
  "cat a&>evil",
  "cat a 1<>evil",
  "cat a {fd}>evil",
  "cat $'a\\ntouch evil'",
  "cat a\u037E touch evil",
  "cat a\uFF1B touch evil"
])

const listed = Object.entries(attacks).flatMap(([source, lines]) => lines.map((line) => [source, line] as const))

describe("published attacks", () => {
  it.each(listed)("%s: %j does not run unasked", (_, line) => {
    expect(CommandPolicy.judge(line)).toMatchObject({ class: expect.not.stringMatching("read-only"), operands: [] })
  })

  it.each(listed.filter(([, line]) => /evil|x\.example|\bsh\b/.test(line) && !saidSo.has(line)))(
    "%s: %j does not slip past a list",
    (_, line) => {
      const through = allowed.filter((pattern) => CommandPolicy.covers(line, pattern))
      expect([through, CommandPolicy.covers(line, ...allowed)]).toEqual([[], false])
    }
  )

  // A deny entry is about what a line runs, wherever in it; what files hold, and letters of other scripts, are something else.
  it.each(
    listed.filter(([, line]) =>
      /(?:^|[\s;&|({`"'/])touch evil/.test(line) && !/[\u0080-\uFFFF\v\f]|\r|% evil|x\.sh/.test(line)
    )
  )("%s: %j is what a deny entry names", (_, line) => {
    expect(CommandPolicy.touches(line, "touch *")).toBe(true)
  })
})

describe("this program itself, in a command", () => {
  it.each(approvingOthers)("%j is dangerous: it could approve what nobody was asked about", (line) => {
    const { class: kind, reasons } = CommandPolicy.judge(line)
    expect([kind, reasons.join()]).toEqual(["dangerous", expect.stringContaining("capstan itself")])
  })

  it.each([
    "sqlite3 ~/.local/share/capstan/capstan.db 'update approvals set answer = 1'",
    "sqlite3 \"$XDG_DATA_HOME/capstan/capstan.db\" .dump",
    "cp evil.db /home/me/.local/share/capstan/capstan.db"
  ])("%j is dangerous: answers are kept there", (line) => {
    expect(CommandPolicy.judge(line).class).toBe("dangerous")
  })

  it.each(notApproving)("%j is not", (line) => {
    expect(CommandPolicy.judge(line).class).not.toBe("dangerous")
  })
})

describe("ordinary work", () => {
  const work: ReadonlyArray<readonly [pattern: string, line: string]> = [
    ["git log *", "git log --format=%h"],
    ["git log *", "git log --oneline --since='2 weeks ago' -- \"docs/a b.md\""],
    ["rm *", "rm -rf ./build"],
    ["git commit *", "git commit -m 'Fix $(x) and `y`; touch nothing'"],
    ["sed *", "sed -i 's/touch/feel/g' src/main.ts"],
    ["grep *", "grep -rn 'touch evil' src"],
    ["npm run *", "npm run build && npm run test -- --coverage > out/report.txt 2>&1"],
    ["node *", "node --test 'test/**/*.test.js'"],
    ["printf *", "printf 'naïve 漢字 👩‍🚀 emoji'"]
  ]
  it.each(work)("%s lets %j run, and no deny entry stands in its way", (pattern, line) => {
    expect(CommandPolicy.judge(line).class).toBe("normal")
    expect(CommandPolicy.covers(line, pattern)).toBe(true)
    for (const denied of ["touch *", "curl *", "sudo *", "sh *"]) {
      expect([denied, CommandPolicy.touches(line, denied)]).toEqual([denied, false])
    }
  })

  it.each([
    "npm ci && npm test",
    "grep -rn \"it's *here*\" 'a b' | head -5",
    "printf '%s\\n' \"a?b\" c\\*d",
    "find . -name '*.ts'",
    "ls"
  ])("an entry made of %j covers it and nothing else", (line) => {
    const entry = CommandPolicy.exactly(line) ?? "none"
    expect(CommandPolicy.covers(line, entry)).toBe(true)
    const others = [`${line} x`, line.replace(/[*?]/g, "xy"), `${line}; ls -a`, line.replace(/\w+/, "touch")]
    expect(others.filter((other) => other !== line && CommandPolicy.covers(other, entry))).toEqual([])
  })

  it.each(["ls *", "ls $X", "X=1 ls", "ls > out", "ls $(pwd)", "(ls)", "ls; cat <<< x", "ls \u200B", "\"unclosed"])(
    "no entry can be made of %j",
    (line) => {
      expect(CommandPolicy.exactly(line)).toBe(undefined)
    }
  )

  it("entries cover a chain together of which each part has its own, and no other", () => {
    const entries = ["npm ci", "npm test", "git diff *", "ls && pwd"]
    expect(CommandPolicy.covers("npm ci && npm test | git diff --stat", ...entries)).toBe(true)
    expect(CommandPolicy.covers("npm ci && npm test; npm publish", ...entries)).toBe(false)
    expect(CommandPolicy.covers("ls && pwd", ...entries)).toBe(true)
    expect(CommandPolicy.covers("ls && pwd && npm ci", ...entries)).toBe(false)
    expect(CommandPolicy.covers("npm ci")).toBe(false)
  })
})

describe("a shell other than bash", () => {
  it.each(listed.filter(([source, line]) => source === "another shell" && !line.startsWith("cmd")))(
    "%s: %j asks",
    (_, line) => {
      expect(CommandPolicy.judge(line, { shell: "sh" }).class).not.toBe("normal")
    }
  )

  it.each([
    "echo $'\\' ; echo INJECTED #'",
    "[[ a == b ]]",
    "echo {a,b}",
    "ls &> out",
    "ls |& cat",
    "cat <<< x",
    "cat <(ls)",
    "a=(1 2)",
    "function f { ls; }",
    "echo ${x//a/b}",
    "echo ${!x}",
    "time ls",
    "coproc ls",
    "((x++))",
    "echo 'a\\nb'",
    "case a in a) ls;;& esac",
    "echo `function f { ls; }`"
  ])("%j is unknown to it, and not to bash", (line) => {
    expect(CommandPolicy.judge(line, { shell: "sh" }).class).toBe("unknown")
    expect(CommandPolicy.judge(line).class).not.toBe("unknown")
  })

  it.each([
    ["ls -la | wc -l", "read-only"],
    ["cat a && echo 'b c'", "read-only"],
    ["for f in *.txt; do wc -l \"$f\"; done", "normal"],
    ["if test -f a; then make; else npm test; fi > out 2>&1", "normal"],
    ["x=${y:-z}; echo $((1 + 2)) ${#x} ${x%.ts} $(pwd)", "normal"],
    ["cat <<EOF\n$x ${y}\nEOF", "normal"],
    ["f() { g \"$@\"; }; f & wait", "normal"],
    ["case $x in a|b) ls ;; *) pwd ;; esac", "normal"]
  ])("%j is to it what it is to bash", (line, kind) => {
    expect(CommandPolicy.judge(line, { shell: "sh" }).class).toBe(kind)
    expect(CommandPolicy.judge(line).class).toBe(kind)
  })
})
