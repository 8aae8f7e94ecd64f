import type { FileErrorReason } from "@capstan/core/FileError"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { anchors, bytes, ground, searching, text } from "./workspaceCases.js"

/** Beside the mount, with a name that begins like it; and what an attacker has planted in the mount. */
const battlefield = (anchor: (typeof anchors)[number]) =>
  Effect.map(ground({ anchor }), (field) => {
    const { base, outside, put, root } = field
    const link = (target: string, path: string) => {
      Fs.mkdirSync(Path.dirname(`${root}/${path}`), { recursive: true })
      Fs.symlinkSync(target, `${root}/${path}`)
    }
    for (const folder of [outside, `${root}-evil`]) {
      Fs.mkdirSync(folder, { recursive: true })
      Fs.writeFileSync(`${folder}/secret`, "outside")
      Fs.mkdirSync(`${folder}/folder`)
    }
    put(".git/config", "config")
    put(".env", "KEY=1")
    put("keys/id_rsa", "key")
    put("ordinary", "inside")
    link("/etc", "etc")
    link("/etc/passwd", "passwd")
    link("/", "slash")
    link("/proc/self/root", "procroot")
    link("../outside", "out")
    link("../outside/secret", "out-file")
    link("../outside/new-file", "dangling")
    link(`${root}-evil`, "evil")
    link("../mount-evil/secret", "evil-file")
    link(".env", "readme.txt")
    link(".git", "notes")
    link("keys", "public")
    link("loop-b", "loop-a")
    link("loop-a", "loop-b")
    link("../out", "chain/one")
    link("one", "chain/two")
    link("chain", "twice")
    for (let n = 0; n < 45; n++) link(n === 44 ? "../outside" : `deep-${n + 1}`, `deep-${n}`)
    link("/dev/zero", "zero")
    Fs.linkSync(`${outside}/secret`, `${root}/hard`)
    return { ...field, evil: `${base}/mount-evil` }
  })

/** A published way out of a folder, the path that takes it here, and how it is answered when read and when written. */
type Case = readonly [source: string, path: string, reading: FileErrorReason, writing?: FileErrorReason]

const cases: ReadonlyArray<Case> = [
  // CVE-2018-1002200 and others ("Zip Slip", Snyk 2018), CVE-2007-4559 (Python tarfile): names with parents.
  ["Zip Slip", "../outside/secret", "outside"],
  ["Zip Slip", "keys/../../outside/secret", "outside"],
  ["Zip Slip", "../../../../../../../../etc/passwd", "outside"],
  ["Zip Slip", "./.././../etc/passwd", "outside"],
  ["Zip Slip", "a/b/../../../outside/secret", "not-found"],
  // CVE-2001-1267 (GNU tar), CVE-2021-32804 (node-tar): absolute names, and slashes that survive taking one away.
  ["absolute name", "/etc/passwd", "outside"],
  ["absolute name", "///etc/passwd", "outside"],
  ["absolute name", "////./etc/passwd", "outside"],
  // CVE-2025-53110 (filesystem MCP server): a folder whose name begins like the allowed one.
  ["common prefix", "../mount-evil/secret", "outside"],
  ["common prefix through a link", "evil/secret", "outside"],
  ["common prefix through a link", "evil-file", "outside"],
  // CVE-2025-53109 (filesystem MCP server), CVE-2022-39253 (git): a link in the allowed folder that leads out.
  ["link out", "passwd", "outside"],
  ["link out", "etc/passwd", "outside"],
  ["link out", "slash/etc/passwd", "outside"],
  ["link out", "out/secret", "outside"],
  ["link out", "out-file", "outside"],
  ["link out", "chain/one/secret", "outside"],
  ["link out", "twice/two/secret", "outside"],
  // CVE-2018-12015 (Archive::Tar), CVE-2021-32803 (node-tar): a file is written to a name that is a link by then.
  ["dangling link", "dangling", "outside"],
  ["link as parent", "out/folder/new", "outside"],
  // CVE-2024-21626 (runc): /proc/self/fd and /proc/self/cwd; CVE-2019-5736 (runc): /proc/self/exe.
  ["proc", "/proc/self/fd/0", "outside"],
  ["proc", "/proc/self/cwd/../../etc/passwd", "outside"],
  ["proc", "/proc/self/exe", "outside"],
  ["proc through a link", "procroot/etc/passwd", "outside"],
  // CVE-2026-25724 (a coding agent): deny rules looked at the name asked for and not at where the link leads.
  ["denied through a link", "readme.txt", "denied"],
  ["denied through a link", "notes/config", "denied"],
  ["denied through a link", "public/id_rsa", "denied"],
  // CVE-2014-9390 (git), CVE-2025-59944 (an editor's agent): the name in another case.
  ["other case", ".GIT/config", "denied"],
  ["other case", ".gIt/CONFIG", "denied"],
  ["other case", ".ENV", "denied"],
  ["other case", "keys/ID_RSA", "denied"],
  ["other case", "NODE_MODULES/x", "not-found", "denied"],
  // CVE-2014-9390 (git): code points that HFS+ ignores; CVE-2021-42574 (Trojan Source): controls of direction.
  ["ignored code point", ".g\u200cit/config", "bad-path"],
  ["ignored code point", ".en\ufeffv", "bad-path"],
  ["direction", "invoice\u202efdp.exe", "bad-path"],
  ["direction", "a\u2067b", "bad-path"],
  // Phrack 55, "Perl CGI problems"; CVE-2006-7243 (PHP): a NUL that ends the name for the system, not for the check.
  ["NUL", "ordinary\0.txt", "bad-path"],
  ["NUL", "../../etc/passwd\0.png", "bad-path"],
  // CWE-22 at length: a path that is cut off behind the check, and loops of links (CVE-2018-6954, systemd-tmpfiles).
  ["too long", `${"a/".repeat(2500)}../secret`, "bad-path"],
  ["loop", "loop-a", "bad-path"],
  ["more links than the kernel follows", "deep-0/secret", "bad-path"],
  // CVE-2023-30584 (Node's permission model): parents behind a folder that need not exist.
  ["parents behind nothing", "no/such/../../../outside/secret", "not-found"],
  ["parents behind a file", "ordinary/../../outside/secret", "not-a-directory"],
  // Shells and libraries that read more into a path: home folders, URLs (CVE-2016-4000 and the like), UNC and devices.
  ["home folder", "~/.ssh/id_rsa", "bad-path"],
  ["somebody's home folder", "~root/.bashrc", "bad-path"],
  ["URL", "file:///etc/passwd", "bad-path"],
  ["URL", "FILE:/etc/passwd", "bad-path"],
  ["UNC", "\\\\host\\share\\x", "bad-path"],
  ["UNC", "//host/share/x", "bad-path"],
  ["verbatim", "\\\\?\\C:\\x", "bad-path"],
  ["drive", "C:\\Windows\\win.ini", "bad-path"],
  // CVE-2021-37701 (node-tar): backslashes as separators.
  ["backslashes", "..\\..\\etc\\passwd", "bad-path"],
  // A device behind a link: reading /dev/zero never ends (CWE-400).
  ["device", "zero", "outside"]
]

/** Encodings that a program which decodes a path twice falls for: here they are names like any other, and stay inside. */
const names: ReadonlyArray<readonly [source: string, path: string]> = [
  // CVE-2021-41773 and CVE-2021-42013 (Apache): percent-encoded dots, once and twice.
  ["percent", ".%2e/.%2e/etc/passwd"],
  ["percent twice", "%%32%65%%32%65/etc/passwd"],
  // CVE-2001-0333 and CVE-2000-0884 (IIS): a second decoding, and overlong UTF-8.
  ["second decoding", "..%255c..%255cwinnt"],
  ["overlong", "..%c0%af..%c0%afetc"],
  // CVE-2021-37712 (node-tar): look-alikes of dots and slashes, and other normal forms, are other names.
  ["full-width", "．．／etc"],
  ["one-dot leaders", "․․/etc"],
  ["division slash", "..∕..∕etc"],
  ["three dots", ".../etc"],
  ["four dots", "..../etc"]
]

describe.each(anchors)("published ways out, $enforcement", (anchor) => {
  it.scopedLive("none leads out, and none reaches what is protected", () =>
    Effect.gen(function*() {
      const { base, evil, files, get, outside, root } = yield* battlefield(anchor)
      const attempt = <A>(effect: Effect.Effect<A, { readonly reason: FileErrorReason }>) =>
        Effect.map(Effect.either(effect), (either) => either._tag === "Left" ? either.left.reason : "done")
      const through: Array<readonly [string, string, FileErrorReason | "done", string]> = []
      for (const [source, path, reading, writing = reading] of cases) {
        const outcomes = [
          ["read", yield* attempt(files.read({ path })), reading],
          ["hash", yield* attempt(files.sha256({ path, maxBytes: 100 })), reading],
          ["write", yield* attempt(files.write({ path, content: bytes("x") })), writing],
          ["writeAll", yield* attempt(files.writeAll({ key: path, files: [{ path, content: bytes("x") }] })), writing],
          ["copy", yield* attempt(files.copy({ from: path, to: "copied", overwrite: true })), undefined],
          ["search", yield* attempt(files.search(searching("outside", { path }))), undefined],
          ["make", yield* attempt(files.makeDirectory({ path })), writing]
        ] as const
        for (const [what, outcome, wanted] of outcomes) {
          const fine = wanted === undefined ? outcome !== "done" : outcome === wanted
          if (!fine) through.push([source, path.slice(0, 60), outcome, what])
        }
      }
      expect(through).toEqual([])
      expect(Fs.readFileSync(`${outside}/secret`, "utf8")).toBe("outside")
      for (const folder of [outside, evil]) expect(Fs.readdirSync(folder).sort()).toEqual(["folder", "secret"])
      expect(Fs.existsSync(`${outside}/new-file`)).toBe(false)
      expect(get(".env")).toBe("KEY=1")
      expect(Fs.existsSync(`${root}/copied`)).toBe(false)
      expect(Fs.readdirSync(base).sort()).toEqual(["mount", "mount-evil", "outside"])
    }))

  it.scopedLive("a listing and a search of everything show nothing of it", () =>
    Effect.gen(function*() {
      const { files } = yield* battlefield(anchor)
      const found = yield* files.files({ path: ".", glob: "**", includeHidden: true, limit: 1000 })
      expect(found.files.map(({ path }) => path).sort()).toEqual(["hard", "ordinary"])
      expect((yield* files.search(searching("KEY|key|config|root:"))).total).toBe(0)
      expect((yield* files.list({ path: "." })).map(({ name }) => name)).not.toContain(".env")
    }))

  it.scopedLive("decoding a name again does not happen", () =>
    Effect.gen(function*() {
      const { files, root } = yield* battlefield(anchor)
      for (const [source, path] of names) {
        const written = yield* files.write({ path, content: bytes(source) })
        expect(written.canonical, source).toBe(`${root}/${path}`)
        expect(text((yield* files.read({ path })).bytes)).toBe(source)
      }
    }))

  it.scopedLive("writing to a name leaves a file with the same content elsewhere alone", () =>
    Effect.gen(function*() {
      // Hard links planted for a privileged writer: Openwall's and grsecurity's hardening, protected_hardlinks (CVE-2011-1126 and the like).
      const { files, outside } = yield* battlefield(anchor)
      expect(text((yield* files.read({ path: "hard" })).bytes)).toBe("outside")
      yield* files.write({ path: "hard", content: bytes("mine") })
      yield* files.writeAll({ key: "hard", files: [{ path: "hard", content: bytes("mine too") }] })
      yield* files.copy({ from: "ordinary", to: "hard", overwrite: true })
      expect(Fs.readFileSync(`${outside}/secret`, "utf8")).toBe("outside")
    }))

  it.scopedLive("a recursive removal takes links, not what they lead to", () =>
    Effect.gen(function*() {
      // CVE-2022-21658 (Rust, remove_dir_all): a link that takes a folder's place is followed.
      const { files, outside, put, root } = yield* battlefield(anchor)
      put("tree/a/x", "x")
      Fs.symlinkSync(outside, `${root}/tree/a/out`)
      Fs.symlinkSync("/etc", `${root}/tree/etc`)
      yield* files.remove({ path: "tree", recursive: true })
      expect(Fs.existsSync(`${outside}/secret`)).toBe(true)
      expect(Fs.existsSync("/etc")).toBe(true)
    }))

  it.scopedLive("ordinary names are not refused", () =>
    Effect.gen(function*() {
      const { files } = yield* ground({ anchor })
      for (
        const path of [
          ".gitignore",
          ".gitattributes",
          ".github/workflows/ci.yml",
          ".env.example",
          "docs/secrets_policy.md",
          "docs/secret-santa.md",
          "src/environment.ts",
          "src/key.ts",
          "keys.md",
          "monkey",
          "pem/notes.txt",
          "my file (1).txt",
          " leading and trailing ",
          "Größe/Übung.md",
          "naïve café.txt",
          "日本語/ファイル.txt",
          "🎉/👩‍👩‍👧‍👦.png",
          "-rf",
          "--help",
          "a'b\"c`d$(e).txt",
          "a;b&c|d.txt",
          "...",
          "..a",
          "a..",
          "x.git",
          "git",
          "node_modules.md",
          "100%.txt",
          "[id].tsx",
          "{slug}.ts",
          "a:b"
        ]
      ) {
        const written = yield* files.write({ path, content: bytes(path) })
        expect(written.display).toBe(path)
        expect(text((yield* files.read({ path })).bytes)).toBe(path)
        yield* files.move({ from: path, to: `moved/${path}`, overwrite: false })
        yield* files.copy({ from: `moved/${path}`, to: path, overwrite: false })
        yield* files.remove({ path, recursive: false })
      }
    }))
})
