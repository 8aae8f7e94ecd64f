import type { Access } from "@capstan/core/Workspace"
import { DenyRules, PathRules } from "@capstan/node"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"

const refused: ReadonlyArray<readonly [string, string, RegExp]> = [
  ["nothing", "", /empty/],
  ["NUL", "a\0b", /U\+0000/],
  ["a newline", "a\nb", /U\+000A/],
  ["a tab", "a\tb", /U\+0009/],
  ["an escape", "a\u001b[31m", /U\+001B/],
  ["a C1 control", "a\u009bb", /U\+009B/],
  ["DEL", "a\u007f", /U\+007F/],
  ["a zero-width space", "a\u200bb", /U\+200B/],
  ["a bidirectional override", "a\u202etxt.exe", /U\+202E/],
  ["an isolate", "a\u2066b", /U\+2066/],
  ["a byte order mark", "\ufeffa", /U\+FEFF/],
  ["a soft hyphen", "a\u00adb", /U\+00AD/],
  ["a tag character", "a\u{e0041}", /U\+E0041/],
  ["a Hangul filler", "a\u3164", /U\+3164/],
  ["a blank braille cell", "a\u2800", /U\+2800/],
  ["a joiner between letters", "a\u200db", /U\+200D/],
  ["a selector behind a letter", "a\ufe0f", /U\+FE0F/],
  ["a lone surrogate", "a\ud800", /Unicode/],
  ["a file URL", "file:///etc/passwd", /URL/],
  ["a short file URL", "FILE:etc", /URL/],
  ["a web URL", "https://host/x", /URL/],
  ["another URL", "smb://host/x", /URL/],
  ["the home folder", "~", /~/],
  ["below the home folder", "~/x", /~/],
  ["somebody's home folder", "~root/x", /~/],
  ["UNC", "\\\\server\\share", /UNC/],
  ["UNC with slashes", "//server/share", /UNC/],
  ["a device namespace", "\\\\.\\pipe\\x", /device/],
  ["a verbatim path", "\\\\?\\C:\\x", /device/],
  ["a drive", "C:\\Windows", /Drive/],
  ["a drive with slashes", "c:/Windows", /Drive/],
  ["parents with backslashes", "..\\..\\etc\\passwd", /backslashes/],
  ["parents with both slashes", "a/..\\b", /backslashes/],
  ["4097 bytes", "a".repeat(4097), /longer/],
  ["4098 bytes in 1366 characters", "語".repeat(1366), /longer/]
]

const ordinary: ReadonlyArray<string> = [
  "a",
  "a b.txt",
  " leading",
  "trailing ",
  "Ünïcödé/Größe.md",
  "cafe\u0301.txt",
  "日本語/ファイル.txt",
  "עברית.txt",
  "العربية.txt",
  "نمی\u200cخواهم.txt",
  "क्\u200dष.txt",
  "😀.txt",
  "❤️.txt",
  "👩‍👩‍👧‍👦 family.png",
  "👩🏽‍💻.txt",
  "🏃‍♀️.md",
  "❤️‍🔥",
  "1️⃣.txt",
  "Screenshot 1.00.00\u202fPM.png",
  ".gitignore",
  ".github/workflows/ci.yml",
  ".env.example",
  "docs/secrets_policy.md",
  "...",
  "..a",
  "a..",
  "a~",
  "./~a",
  "~x".slice(1),
  "a:b",
  "notes:2024.md",
  "C:x",
  "-rf",
  "--pre=sh",
  "$(id)",
  "`id`",
  "a;b",
  "a|b",
  "a&b",
  "a'b\"c",
  "a*b?",
  "[x]",
  "{y}",
  "%2e%2e/x",
  "a\\b",
  "con",
  "aux.c",
  "a".repeat(4096),
  "datafile:x"
]

describe("the text of a path", () => {
  it.each(refused)("refuses %s", (_, path, why) => {
    const parsed = PathRules.parse(path, "posix")
    expect(Either.isLeft(parsed) && parsed.left).toMatch(why)
  })

  it.each(ordinary)("takes %j", (path) => {
    expect(Either.isRight(PathRules.parse(path, "posix"))).toBe(true)
  })

  it("keeps .. for the links to decide and drops what says nothing", () => {
    expect(PathRules.parse("./a//b/./../c/", "posix")).toEqual(
      Either.right({ prefix: undefined, segments: ["a", "b", "..", "c"], folder: true })
    )
    expect(PathRules.parse("/a", "posix")).toEqual(Either.right({ prefix: "/", segments: ["a"], folder: false }))
  })

  it("knows what Windows gives another meaning", () => {
    for (const path of ["NUL", "a/con.txt", "COM1", "a:stream", "a.", "a ", "a?b", "\\x", "\\\\server\\x", "//./x"]) {
      expect(Either.isLeft(PathRules.parse(path, "windows")), path).toBe(true)
    }
    expect(PathRules.parse("c:\\a\\..\\b", "windows")).toEqual(
      Either.right({ prefix: "C:\\", segments: ["a", "..", "b"], folder: false })
    )
  })

  it("compares whole segments", () => {
    expect(PathRules.below(["work"], ["work", "a"])).toEqual(["a"])
    expect(PathRules.below(["work"], ["work-old", "a"])).toBeUndefined()
    expect(PathRules.below(["work", "a"], ["work"])).toBeUndefined()
    expect(PathRules.collapse(["..", "a", "b", "..", "c"])).toEqual(["a", "c"])
  })
})

const segments = (path: string) => path.split("/")
const against = (rules: DenyRules.DenyRules, path: string, access: Access) =>
  DenyRules.match(rules, { below: [segments(path)], absolute: ["work", ...segments(path)], access })
const asEntry = (rules: DenyRules.DenyRules, path: string, access: Access) => {
  const folder = segments(path).slice(0, -1)
  return DenyRules.matchIn(rules, { below: folder, absolute: ["work", ...folder], access })(segments(path).at(-1) ?? "")
}
const rulesOf = (...patterns: ReadonlyArray<string>) =>
  Either.getOrThrow(DenyRules.compile(patterns.map((pattern) => ({ pattern }))))

describe("the default denies", () => {
  it.each([
    ".ssh",
    ".ssh/id",
    "a/.ssh/config",
    ".SSH/x",
    ".gnupg/x",
    ".aws/credentials",
    ".azure",
    ".config/gcloud/x",
    "home/.config/gcloud",
    ".env",
    ".ENV",
    "a/.env",
    ".env/x",
    ".env.local",
    ".env.production",
    ".env.example.bak",
    "id_rsa",
    "id_rsa.pub",
    "a/id_ed25519",
    "id_ecdsa_sk",
    "server.pem",
    "a/b/tls.KEY",
    "x.p12",
    "x.pfx",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".git-credentials",
    "secrets",
    "secrets/x",
    "a/Secrets/b/c",
    ".git/config",
    "a/.git/config",
    ".git/modules/a/config",
    ".\u017fsh/x"
  ])("deny %s altogether", (path) => {
    for (const access of ["read", "list", "write", "delete"] as const) {
      expect(against(DenyRules.defaults, path, access), access).toBeTypeOf("string")
      expect(asEntry(DenyRules.defaults, path, access), access).toBe(against(DenyRules.defaults, path, access))
    }
  })

  it.each([
    ".git",
    ".git/HEAD",
    ".git/hooks/pre-commit",
    "sub/.git/x",
    "node_modules",
    "node_modules/a/index.js",
    "p/Node_Modules/x"
  ])(
    "let %s be read, not changed",
    (path) => {
      expect(against(DenyRules.defaults, path, "read")).toBeUndefined()
      expect(against(DenyRules.defaults, path, "list")).toBeUndefined()
      expect(against(DenyRules.defaults, path, "write")).toBeTypeOf("string")
      expect(against(DenyRules.defaults, path, "delete")).toBeTypeOf("string")
    }
  )

  it.each([
    ".gitignore",
    ".gitattributes",
    ".github",
    ".github/workflows/ci.yml",
    ".env.example",
    "a/.env.example",
    "environment",
    ".envrc",
    "a.env",
    "docs/secrets_policy.md",
    "secret",
    "my secrets/x",
    "pem",
    "key",
    "monkey",
    "a.pem.txt",
    "keys.md",
    "id_rs",
    "my_id_rsa.md",
    ".config/other",
    ".sshd",
    "node_modules.md",
    ".npmignore",
    ".gitmodules",
    "größe.md",
    "a b.txt",
    "😀"
  ])("leave %s alone", (path) => {
    for (const access of ["read", "list", "write", "delete"] as const) {
      expect(against(DenyRules.defaults, path, access), access).toBeUndefined()
    }
  })

  it("hold in folders above the mount", () => {
    expect(DenyRules.match(DenyRules.defaults, { below: [["x"]], absolute: ["home", ".ssh", "x"], access: "read" }))
      .toBe("**/.ssh/**")
  })

  it("look at the path as asked for and as it is", () => {
    expect(DenyRules.match(DenyRules.defaults, { below: [["a"], [".env"]], absolute: ["work", "a"], access: "read" }))
      .toBe("**/.env/**")
    expect(DenyRules.match(rulesOf("/a"), { below: [["b"], ["a"]], absolute: ["work", "b"], access: "read" })).toBe(
      "/a"
    )
  })
})

describe("deny patterns", () => {
  it.each<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>]>([
    ["private", ["private", "private/a", "a/private/b"], ["privateer", "a/my private"]],
    ["private/", ["private", "private/a", "a/private/b"], ["privateer"]],
    ["/top.txt", ["top.txt"], ["a/top.txt", "top.txt/b"]],
    ["docs/*", ["docs/a"], ["docs", "docs/a/b", "a/docs/b"]],
    ["docs/**", ["docs", "docs/a", "docs/a/b"], ["docsx/a", "a/docs"]],
    ["**/x/**", ["x", "x/a", "a/x", "a/b/x/c/d"], ["xx", "a/xy/b"]],
    ["a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["z", "a/b", "a/z/b"]],
    ["*.{pem,KEY}", ["a.pem", "b/c.key"], ["a.pems"]],
    ["{a,b{c,d}}/e", ["a/e", "bc/e", "bd/e"], ["b/e"]],
    ["[a-c]?.txt", ["a1.txt", "x/cé.txt"], ["d1.txt", "a.txt"]],
    ["[!a]b", ["cb"], ["ab", "b"]],
    ["**", ["a", "a/b"], []],
    ["a.b", ["a.b", "A.B"], ["axb"]],
    ["größe", ["GRÖSSE", "größe/x"], ["grobe"]]
  ])("%s names exactly what it says", (pattern, hits, misses) => {
    const rules = rulesOf(pattern)
    for (const path of hits) expect(against(rules, path, "read"), path).toBe(pattern)
    for (const path of misses) expect(against(rules, path, "read"), path).toBeUndefined()
  })

  it.each(["", " ", "{a", "a}", "[a", "a]", "[]", "/", "..", "a/../b", "!a", "a\\b", "a\0", "{a,b}".repeat(9)])(
    "refuse %j, which cannot be checked",
    (pattern) => {
      const compiled = DenyRules.compile([{ pattern }])
      expect(Either.isLeft(compiled) && compiled.left).toMatchObject({ reason: "bad-pattern", pattern })
    }
  )

  it.prop(
    "agree with a plain definition",
    [
      FastCheck.array(FastCheck.constantFrom("a", "b", "*", "?", "a*", "*b", "**"), { minLength: 2, maxLength: 5 }),
      FastCheck.array(FastCheck.stringMatching(/^[ab]{1,3}$/), { minLength: 1, maxLength: 5 })
    ],
    ([parts, path]) => {
      FastCheck.pre(parts.some((part) => part !== "**"))
      const rules = rulesOf(`/${parts.join("/")}`)
      const denied = DenyRules.match(rules, { below: [path], absolute: ["-", ...path], access: "read" })
      expect(
        DenyRules.matchIn(rules, {
          below: path.slice(0, -1),
          absolute: ["-", ...path.slice(0, -1)],
          access: "read"
        })(path.at(-1) ?? "")
      ).toBe(denied)
      expect(denied !== undefined)
        .toBe(plainly(parts, path) || (parts[0] === "**" && plainly(parts, ["-", ...path])))
    },
    { fastCheck: { numRuns: 500 } }
  )

  it("does not blow up on many stars", () => {
    const rules = rulesOf(`${"*a".repeat(60)}*b`)
    expect(against(rules, "a".repeat(4000), "read")).toBeUndefined()
  })
})

const plainly = (parts: ReadonlyArray<string>, path: ReadonlyArray<string>): boolean => {
  const [part, ...rest] = parts
  const [name, ...more] = path
  if (part === undefined) return name === undefined
  if (part === "**") return plainly(rest, path) || (name !== undefined && plainly(parts, more))
  return name !== undefined && plainName(part, name) && plainly(rest, more)
}

const plainName = (pattern: string, name: string): boolean => {
  if (pattern === "") return name === ""
  if (pattern.startsWith("*")) {
    return plainName(pattern.slice(1), name) || (name !== "" && plainName(pattern, name.slice(1)))
  }
  return name !== "" && (pattern.startsWith("?") || pattern[0] === name[0]) &&
    plainName(pattern.slice(1), name.slice(1))
}
