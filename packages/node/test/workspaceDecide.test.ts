import { Workspace } from "@capstan/core/Workspace"
import { NodeWorkspace } from "@capstan/node"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { anchors, ground, temporaryFolder, text } from "./workspaceCases.js"

type Entry =
  | { readonly kind: "folder"; readonly at: string }
  | { readonly kind: "file"; readonly at: string }
  | { readonly kind: "link"; readonly at: string; readonly to: string }

const name = FastCheck.constantFrom("a", "b", "c", "d")
const place = FastCheck.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"))
const step = FastCheck.oneof({ arbitrary: name, weight: 4 }, {
  arbitrary: FastCheck.constantFrom("..", "."),
  weight: 1
})
const relative = FastCheck.array(step, { minLength: 1, maxLength: 5 }).map((steps) => steps.join("/"))
const target = FastCheck.oneof(
  { arbitrary: relative, weight: 3 },
  { arbitrary: relative.map((path) => `MOUNT/${path}`), weight: 2 },
  { arbitrary: relative.map((path) => `OUTSIDE/${path}`), weight: 1 },
  { arbitrary: FastCheck.constantFrom("..", "../..", "/", "../outside", "../outside/../mount/a"), weight: 1 }
)
const entry: FastCheck.Arbitrary<Entry> = FastCheck.oneof(
  { arbitrary: place.map((at) => ({ kind: "folder" as const, at })), weight: 2 },
  { arbitrary: place.map((at) => ({ kind: "file" as const, at })), weight: 2 },
  { arbitrary: FastCheck.record({ kind: FastCheck.constant("link" as const), at: place, to: target }), weight: 3 }
)

/** Builds what can be built, in order; names that are taken stay. */
const build = (root: string, outside: string, entries: ReadonlyArray<Entry>): void => {
  for (const one of entries) {
    const path = Path.join(root, one.at)
    try {
      if (one.kind === "folder") Fs.mkdirSync(path)
      else if (one.kind === "file") Fs.writeFileSync(path, one.at, { flag: "wx" })
      else Fs.symlinkSync(one.to.replace("MOUNT", root).replace("OUTSIDE", outside), path)
    } catch {
      continue
    }
  }
}

const real = (path: string): string | { readonly code: unknown } => {
  try {
    return Fs.realpathSync.native(path)
  } catch (cause) {
    return { code: cause instanceof Error && "code" in cause ? cause.code : cause }
  }
}

const isInside = (root: string, path: string): boolean => path === root || path.startsWith(`${root}/`)

/** Whether a typed `..` leads out of the mount on the way, asked from the kernel. */
const leaves = (root: string, path: string): boolean => {
  const steps = path.split("/")
  return steps.some((one, index) => {
    if (one !== "..") return false
    const led = real(`${root}/${steps.slice(0, index + 1).join("/")}`)
    return typeof led === "string" && !isInside(root, led)
  })
}

describe.each(anchors)("decisions, $enforcement", (anchor) => {
  it.scoped.prop(
    "are the kernel's own resolution, and reads agree",
    [
      FastCheck.array(entry, { minLength: 1, maxLength: 14 }),
      FastCheck.array(relative, { minLength: 5, maxLength: 15 })
    ],
    ([entries, paths]) =>
      Effect.gen(function*() {
        const { files, outside, root } = yield* ground({ anchor })
        Fs.writeFileSync(Path.join(outside, "a"), "outside")
        Fs.mkdirSync(Path.join(outside, "b"))
        build(root, outside, entries)
        for (const path of paths) {
          const led = real(`${root}/${path}`)
          const decision = yield* files.decide({ path, access: "read" })
          const content = yield* Effect.exit(files.read({ path }))
          if (typeof led !== "string") {
            expect(Exit.isFailure(content), path).toBe(true)
            if (led.code === "ELOOP") expect(decision).toMatchObject({ _tag: "Refused", reason: "bad-path" })
          } else if (leaves(root, path) || !isInside(root, led)) {
            expect(decision, `${path} leads to ${led}`).toMatchObject({ _tag: "Refused", reason: "outside" })
            expect(Exit.isFailure(content), path).toBe(true)
          } else {
            expect(decision, `${path} leads to ${led}`).toMatchObject({ _tag: "Allowed", canonical: led })
            if (Fs.statSync(led).isFile()) {
              expect(Exit.isSuccess(content) && text(content.value.bytes)).toBe(Fs.readFileSync(led, "utf8"))
            }
          }
        }
      }),
    { fastCheck: { numRuns: 60 }, timeout: 60_000 }
  )

  it.scoped("take links that lead inside and refuse those that lead out", () =>
    Effect.gen(function*() {
      const { files, outside, put, root } = yield* ground({ anchor })
      put("data/real.txt", "inside")
      Fs.writeFileSync(Path.join(outside, "x"), "outside")
      Fs.symlinkSync("data", Path.join(root, "link"))
      Fs.symlinkSync(outside, Path.join(root, "out"))
      Fs.symlinkSync("nowhere/new.txt", Path.join(root, "dangling"))
      expect(text((yield* files.read({ path: "link/real.txt" })).bytes)).toBe("inside")
      expect(yield* files.decide({ path: "link/real.txt", access: "write" })).toMatchObject({
        _tag: "Allowed",
        canonical: `${root}/data/real.txt`,
        display: "data/real.txt"
      })
      expect(yield* Effect.flip(files.read({ path: "out/x" }))).toMatchObject({
        reason: "outside",
        resolved: `${outside}/x`
      })
      expect((yield* Effect.flip(files.write({ path: "out/new", content: text2 }))).reason).toBe("outside")
      expect((yield* Effect.flip(files.list({ path: "out" }))).reason).toBe("outside")
      yield* files.write({ path: "dangling", content: text2 })
      expect(Fs.readFileSync(`${root}/nowhere/new.txt`, "utf8")).toBe("x")
      expect(Fs.lstatSync(`${root}/dangling`).isSymbolicLink()).toBe(true)
    }))
})

const text2 = new TextEncoder().encode("x")

describe("mounts", () => {
  it.scoped("a path through several mounts gets the access of the deepest", () =>
    Effect.gen(function*() {
      const { files, root } = yield* ground({
        mounts: (root) => {
          Fs.mkdirSync(`${root}/vault`)
          Fs.writeFileSync(`${root}/vault/a`, "a")
          return [{ name: "workspace", root, access: "rw" }, { name: "vault", root: `${root}/vault`, access: "ro" }]
        }
      })
      expect(yield* files.decide({ path: "vault/a", access: "read" })).toMatchObject({
        _tag: "Allowed",
        mount: { name: "vault" }
      })
      expect(yield* files.decide({ path: "vault/../x", access: "write" })).toMatchObject({
        _tag: "Allowed",
        canonical: `${root}/x`
      })
      for (
        const error of [
          yield* Effect.flip(files.write({ path: "vault/a", content: text2 })),
          yield* Effect.flip(files.makeDirectory({ path: "vault/d" })),
          yield* Effect.flip(files.remove({ path: "vault/a", recursive: false }))
        ]
      ) expect(error).toMatchObject({ reason: "read-only", message: expect.stringContaining("vault") })
      expect((yield* Effect.flip(files.remove({ path: ".", recursive: true }))).reason).toBe("denied")
      expect((yield* Effect.flip(files.move({ from: "vault", to: "v", overwrite: false }))).reason).toBe("read-only")
      yield* files.write({ path: "other", content: text2 })
      expect((yield* Effect.flip(files.move({ from: "vault/a", to: "b", overwrite: false }))).reason).toBe("read-only")
    }))

  it.scoped("a folder that holds a mount stays", () =>
    Effect.gen(function*() {
      const { files } = yield* ground({
        mounts: (root) => {
          Fs.mkdirSync(`${root}/deep/inner`, { recursive: true })
          return [{ name: "workspace", root, access: "rw" }, {
            name: "inner",
            root: `${root}/deep/inner`,
            access: "rw"
          }]
        }
      })
      expect(yield* Effect.flip(files.remove({ path: "deep", recursive: true }))).toMatchObject({
        reason: "denied",
        message: expect.stringContaining("inner")
      })
      expect((yield* Effect.flip(files.move({ from: "deep", to: "d", overwrite: false }))).reason).toBe("denied")
    }))

  it.scoped("absolute paths count inside a mount, by either of its names, and outside only on purpose", () =>
    Effect.gen(function*() {
      const base = yield* temporaryFolder()
      Fs.mkdirSync(`${base}/real`)
      Fs.writeFileSync(`${base}/real/a`, "a")
      Fs.symlinkSync("real", `${base}/alias`)
      Fs.symlinkSync("real", `${base}/third`)
      const options = {
        mounts: [{ name: "workspace", root: `${base}/alias`, access: "rw" as const }],
        workingDirectory: `${base}/alias`
      }
      const strict = yield* Workspace.pipe(Effect.provide(NodeWorkspace.layer(options)))
      const free = yield* Workspace.pipe(Effect.provide(NodeWorkspace.layer({ ...options, allowAbsolute: true })))
      expect(strict.mounts).toEqual([{ name: "workspace", root: `${base}/real`, access: "rw" }])
      for (
        const path of [`${base}/alias/a`, `${base}/real/a`, "a", "./a", `${base}/real/x/.././a`.replace("x/../", "")]
      ) {
        expect(yield* strict.decide({ path, access: "read" }), path).toMatchObject({
          _tag: "Allowed",
          canonical: `${base}/real/a`,
          display: "a"
        })
      }
      for (
        const path of [
          "/etc/passwd",
          `${base}/third/a`,
          `${base}/real-old/a`,
          `${base}/real/../real/a`,
          "../real/a",
          "/"
        ]
      ) {
        expect(yield* strict.decide({ path, access: "read" }), path).toMatchObject({
          _tag: "Refused",
          reason: "outside"
        })
      }
      expect(yield* free.decide({ path: `${base}/third/a`, access: "read" })).toMatchObject({
        _tag: "Allowed",
        canonical: `${base}/real/a`
      })
      expect(yield* free.decide({ path: "/etc/passwd", access: "read" })).toMatchObject({
        _tag: "Refused",
        reason: "outside",
        resolved: Fs.realpathSync("/etc/passwd")
      })
    }))

  it.scoped("`..` behind what is no folder leads nowhere, as in the kernel", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground()
      put("file", "")
      expect(yield* files.decide({ path: "none/../file", access: "read" })).toMatchObject({ reason: "not-found" })
      expect(yield* files.decide({ path: "file/../file", access: "read" })).toMatchObject({ reason: "not-a-directory" })
    }))

  it.scoped("`..` is refused altogether where it is not allowed, and not in the targets of links", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ allowParents: false })
      put("a/b", "x")
      Fs.symlinkSync("../a/b", `${root}/a/link`)
      for (const path of ["a/../a/b", "..", "a/.."]) {
        expect(yield* files.decide({ path, access: "read" }), path).toMatchObject({ reason: "bad-path" })
      }
      expect(yield* files.decide({ path: "a/link", access: "read" })).toMatchObject({ display: "a/b" })
      expect(yield* files.decide({ path: "a/..b", access: "read" })).toMatchObject({ display: "a/..b" })
    }))

  it.scoped("deny rules hold for the name asked for and for where it leads", () =>
    Effect.gen(function*() {
      const { base, files, put, root } = yield* ground()
      put(".env", "SECRET")
      put("plain.txt", "plain")
      put("config/secrets/x", "SECRET")
      Fs.symlinkSync(".env", `${root}/innocent`)
      Fs.symlinkSync("plain.txt", `${root}/key.pem`)
      Fs.symlinkSync("config/secrets", `${root}/public`)
      for (
        const path of [".env", ".ENV", "innocent", "key.pem", "public/x", "./config/../.env", `${base}/mount/.env`]
      ) {
        expect(yield* Effect.flip(files.read({ path })), path).toMatchObject({
          reason: "denied",
          pattern: expect.any(String),
          message: expect.stringContaining("deny pattern")
        })
      }
      put(".git/config", "[remote]")
      put(".git/HEAD", "ref")
      expect(text((yield* files.read({ path: ".git/HEAD" })).bytes)).toBe("ref")
      expect((yield* Effect.flip(files.read({ path: ".git/config" }))).reason).toBe("denied")
      expect((yield* Effect.flip(files.write({ path: ".git/hooks/pre-commit", content: text2 }))).reason).toBe("denied")
      expect((yield* Effect.flip(files.makeDirectory({ path: "node_modules/x" }))).reason).toBe("denied")
      for (
        const path of [
          ".gitignore",
          ".github/workflows/ci.yml",
          ".env.example",
          "docs/secrets_policy.md",
          "ä ö.txt",
          "👩‍💻.md"
        ]
      ) {
        yield* files.write({ path, content: text2 })
        expect((yield* files.read({ path })).size, path).toBe(1)
      }
    }))

  it.scoped("the program's own folders are out of sight, unless they are mounted on purpose", () =>
    Effect.gen(function*() {
      const base = yield* temporaryFolder()
      Fs.mkdirSync(`${base}/work/data/scratch`, { recursive: true })
      Fs.writeFileSync(`${base}/work/data/db`, "x")
      Fs.writeFileSync(`${base}/work/data/scratch/a`, "x")
      const files = yield* Workspace.pipe(Effect.provide(NodeWorkspace.layer({
        mounts: [
          { name: "workspace", root: `${base}/work`, access: "rw" },
          { name: "scratch", root: `${base}/work/data/scratch`, access: "rw" }
        ],
        workingDirectory: `${base}/work`,
        privateFolders: [`${base}/work/DATA`, `${base}/work/data`, `${base}/later/made`]
      })))
      expect(yield* files.decide({ path: "data/db", access: "read" })).toMatchObject({
        reason: "denied",
        pattern: expect.stringContaining("/work/")
      })
      expect(yield* files.list({ path: "." })).toEqual([])
      expect(yield* files.decide({ path: "data/scratch/a", access: "read" })).toMatchObject({ _tag: "Allowed" })
    }))

  it.scoped("what cannot work is refused when the layer is built, with what to do", () =>
    Effect.gen(function*() {
      const base = yield* temporaryFolder()
      Fs.writeFileSync(`${base}/file`, "")
      Fs.mkdirSync(`${base}/.ssh/project`, { recursive: true })
      Fs.mkdirSync(`${base}/ok/sub`, { recursive: true })
      const mount = (root: string, name = "workspace") => ({ name, root, access: "rw" as const })
      const build = (mounts: ReadonlyArray<ReturnType<typeof mount>>, workingDirectory: string) =>
        Effect.flip(Effect.provide(Workspace, NodeWorkspace.layer({ mounts, workingDirectory })))
      const ok = `${base}/ok`
      expect(yield* build([mount(`${base}/none`)], ok)).toMatchObject({
        reason: "not-found",
        message: expect.stringMatching(/"workspace".*does not exist.*Create it/)
      })
      expect(yield* build([mount(`${base}/file`)], ok)).toMatchObject({ reason: "not-a-directory" })
      expect(yield* build([mount("relative")], ok)).toMatchObject({ reason: "bad-path" })
      expect(yield* build([mount(`${ok}\0`)], ok)).toMatchObject({ reason: "bad-path" })
      expect(yield* build([], ok)).toMatchObject({ reason: "bad-path" })
      expect(yield* build([mount(ok), mount(ok, "again")], ok)).toMatchObject({ reason: "bad-path" })
      expect(yield* build([mount(ok), mount(`${ok}/sub`)], ok)).toMatchObject({ reason: "bad-path" })
      expect(yield* build([mount(ok)], `${base}/none`)).toMatchObject({ reason: "not-found" })
      expect(yield* build([mount(ok)], base)).toMatchObject({ reason: "outside" })
      expect(yield* build([mount(`${base}/.ssh/project`)], `${base}/.ssh/project`)).toMatchObject({
        reason: "denied",
        pattern: "**/.ssh/**"
      })
    }))
})
