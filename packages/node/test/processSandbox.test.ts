import { ProcessRunner } from "@capstan/core/ProcessRunner"
import type { Mount } from "@capstan/core/Workspace"
import { SandboxedProcessRunner } from "@capstan/node"
import { describe, expect, it, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll } from "vitest"
import { confines, cutShort, endings, stubborn } from "./processCases.js"

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-sandbox-test-")))
const workspace = path.join(root, "workspace")
const library = path.join(root, "library")
fs.mkdirSync(workspace)
fs.mkdirSync(library)
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const mounts: ReadonlyArray<Mount> = [
  { name: "workspace", root: workspace, access: "rw" },
  { name: "library", root: library, access: "ro" }
]
const put = (name: string, text: string) => {
  fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
  fs.writeFileSync(path.join(root, name), text)
}

const run = (command: string, cwd = workspace) =>
  Effect.gen(function*() {
    const runner = yield* ProcessRunner
    const result = yield* runner.run({ command, cwd, keepBytes: 100_000 })
    return {
      code: result.exit._tag === "Exited" ? result.exit.code : result.exit.signal,
      out: result.stdout.head,
      err: result.stderr.head
    }
  })

const options = { mounts, grace: "150 millis" } as const

describe.skipIf(!confines)("a sandboxed command", () => {
  layer(SandboxedProcessRunner.layer(options), { excludeTestServices: true })("with nothing denied", (it) => {
    it.effect("says what it enforces", () =>
      Effect.gen(function*() {
        const { enforcement } = yield* ProcessRunner
        expect(enforcement).toEqual({
          backend: "sandboxed",
          shell: "bash",
          fallback: null,
          filesystem: true,
          network: true,
          survivors: true,
          weakened: []
        })
      }))

    it.effect("writes inside of a mount and nowhere else", () =>
      Effect.gen(function*() {
        const outside = path.join(os.homedir(), `.capstan-test-${process.pid}`)
        const result = yield* run(
          `echo in > kept; echo out > ${outside}; echo out > ${root}/beside; echo out > ${library}/no; echo out > /no; echo out > /etc/no; cat kept`
        )
        expect(result.out).toBe("in\n")
        expect(result.err.match(/Read-only file system/g)).toHaveLength(3)
        expect(fs.readFileSync(path.join(workspace, "kept"), "utf8")).toBe("in\n")
        expect([outside, `${root}/beside`, `${library}/no`, "/no", "/etc/no"].filter((name) => fs.existsSync(name)))
          .toEqual([])
      }))

    it.effect("does not see the home folder, other folders, or the secrets of the system", () =>
      Effect.gen(function*() {
        put("secret", "hidden")
        const result = yield* run(
          `cat ${root}/secret; cat /etc/shadow; ls -A ~ | grep -v -x -e .gitconfig -e .cargo -e .pyenv -e .rustup -e .nvm -e .local; ls /run /var/tmp; true`
        )
        expect(result.out).toBe("/run:\n\n/var/tmp:\n")
        expect(result.err).toContain("No such file or directory")
        expect(result.err).toContain("Permission denied")
      }))

    it.effect("keeps /tmp between commands, apart from the host's", () =>
      Effect.gen(function*() {
        const name = `capstan-test-${process.pid}`
        yield* run(`echo kept > /tmp/${name}`)
        expect((yield* run(`cat /tmp/${name}`)).out).toBe("kept\n")
        expect(fs.existsSync(`/tmp/${name}`)).toBe(false)
      }))

    it.effect("cannot change the kernel, make namespaces, or see other processes", () =>
      Effect.gen(function*() {
        const result = yield* run(
          `{ true >> /proc/sys/kernel/core_pattern; } && echo open; unshare -Ur true && echo open; ls -d /proc/[0-9]* | wc -l; grep CapEff /proc/self/status`
        )
        expect(result.out).not.toContain("open")
        expect(Number(result.out.split("\n")[0])).toBeLessThan(8)
        expect(result.out).toContain("CapEff:\t0000000000000000")
      }))

    it.effect("has no network, not even to the host itself", () =>
      Effect.gen(function*() {
        const server = yield* Effect.acquireRelease(
          Effect.async<net.Server>((resume) => {
            const made = net.createServer((socket) => socket.end("reached"))
            made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
          }),
          (made) => Effect.sync(() => made.close())
        )
        const address = server.address()
        const port = address !== null && typeof address === "object" ? address.port : 0
        const result = yield* run(`cat < /dev/tcp/127.0.0.1/${port}`)
        expect(result).toMatchObject({ code: 1, out: "" })
      }).pipe(Effect.scoped))

    it.effect("gets a clean environment and no descriptors but its own", () =>
      Effect.gen(function*() {
        const inherited = fs.openSync(workspace, "r")
        const result = yield* run("env; ls -l /proc/self/fd")
        fs.closeSync(inherited)
        expect(result.out).toContain(`HOME=${fs.realpathSync(os.homedir())}\n`)
        expect(result.out).not.toMatch(/(KEY|TOKEN|SECRET)=(?!.*-)/)
        const strange = result.out.split("\n").filter((line) => line.includes(" -> ")).filter((line) =>
          !/ -> (\/dev\/null|\/proc\/\d+\/fd|.*capstan-pipes.*\(deleted\))$/.test(line)
        )
        expect(strange).toEqual([])
      }))

    it.effect("shows its environment to nobody else", () =>
      Effect.gen(function*() {
        const { run } = yield* ProcessRunner
        let shown = ""
        let leader = 0
        yield* run({
          command: "echo $PRIVATE; sleep 0.2",
          cwd: workspace,
          env: { PRIVATE: "only-for-the-command" },
          keepBytes: 100,
          onStart: ({ pid }) =>
            Effect.sync(() => {
              leader = pid
            }),
          onOutput: ({ text }) =>
            Effect.sync(() => {
              expect(text).toBe("only-for-the-command\n")
              shown += fs.readFileSync(`/proc/${leader}/cmdline`, "latin1")
            })
        })
        expect(leader).toBeGreaterThan(1)
        expect(shown).toContain("echo $PRIVATE")
        expect(shown).not.toContain("only-for-the-command")
      }))

    it.effect("passes exit codes and both outputs through, real pipes among them", () =>
      Effect.gen(function*() {
        expect(yield* run("echo out; echo err | tee /dev/stderr; exit 7")).toEqual({
          code: 7,
          out: "out\nerr\n",
          err: "err\n"
        })
        expect((yield* run("kill -9 $$")).code).toBe(137)
      }))

    it.effect("starts in a folder of a mount only", () =>
      Effect.gen(function*() {
        expect((yield* run("pwd", library)).out).toBe(`${library}\n`)
        for (const cwd of ["/usr", root, path.join(workspace, "none")]) {
          expect(yield* Effect.flip(run("pwd", cwd))).toMatchObject({ _tag: "ProcessError", reason: "bad-directory" })
        }
      }))

    for (const [ending, end] of endings) {
      for (const [name, command] of stubborn) {
        it.effect(`leaves nothing of ${name}, on ${ending}`, () =>
          Effect.gen(function*() {
            expect(yield* cutShort({ command, end, cwd: workspace })).toEqual([])
          }))
      }
    }
  })

  it.live("does not see denied files, folders and what links to them lead to", () =>
    Effect.gen(function*() {
      put("workspace/.env", "TOKEN=1")
      put("workspace/open", "open")
      put("workspace/secrets/deep/key", "key")
      put("workspace/hidden/target", "target")
      put("library/id_rsa", "rsa")
      fs.rmSync(path.join(workspace, "key.pem"), { force: true })
      fs.symlinkSync("hidden/target", path.join(workspace, "key.pem"))
      fs.rmSync(path.join(workspace, "gone.pem"), { force: true })
      fs.symlinkSync("/nowhere", path.join(workspace, "gone.pem"))
      const result = yield* run(
        `cat .env open key.pem hidden/target ${library}/id_rsa; ls -A secrets; echo x > .env; mv .env moved; rm -rf secrets; touch secrets/x; mv secrets away; true`
      )
      expect(result.out).toBe("open")
      expect(fs.readFileSync(path.join(workspace, ".env"), "utf8")).toBe("TOKEN=1")
      expect(fs.readdirSync(path.join(workspace, "secrets"))).toEqual(["deep"])
      expect(fs.existsSync(path.join(workspace, "not-there"))).toBe(false)
      expect(fs.existsSync(path.join(workspace, "moved"))).toBe(false)
    }).pipe(Effect.provide(SandboxedProcessRunner.layer({
      ...options,
      deniedFiles: Effect.succeed(
        [".env", "secrets", "secrets/deep/key", "key.pem", "gone.pem", "not-there"].map((name) =>
          path.join(workspace, name)
        )
          .concat(path.join(library, "id_rsa"), "/usr/bin/env")
      )
    }))))

  it.live("commits with git, whose hooks and configuration stay as they are", () =>
    Effect.gen(function*() {
      const repository = path.join(workspace, "repository")
      execFileSync("git", ["init", "-q", repository])
      execFileSync("git", ["-C", repository, "config", "user.name", "A"])
      execFileSync("git", ["-C", repository, "config", "user.email", "a@example.org"])
      const config = fs.readFileSync(path.join(repository, ".git/config"), "utf8")
      const result = yield* run(
        `git init -q other && echo made; cd repository; echo a > a && git add a && git commit -q -m a && git log --format=%s; git config core.fsmonitor ./evil; echo x > .git/hooks/pre-commit; echo >> .git/config; mv .git away; rm -rf .git/hooks .git/config; mv .git/hooks .git/hooked; true`
      )
      expect(result.out).toBe("made\na\n")
      expect(fs.readFileSync(path.join(repository, ".git/config"), "utf8")).toBe(config)
      expect(fs.existsSync(path.join(repository, ".git/hooks/pre-commit"))).toBe(false)
      expect(fs.existsSync(path.join(repository, ".git/hooks"))).toBe(true)
      expect(fs.existsSync(path.join(repository, "away"))).toBe(false)
    }).pipe(Effect.provide(SandboxedProcessRunner.layer({
      ...options,
      deniedFiles: Effect.succeed([path.join(workspace, "repository/.git/config")])
    }))))

  it.live("takes away what would lead git to another configuration, however the command ends", () =>
    Effect.gen(function*() {
      const repository = path.join(root, "redirected")
      execFileSync("git", ["init", "-q", repository])
      const plant = "cp -r .git evil && echo ../evil > .git/commondir"
      const layer = SandboxedProcessRunner.layer({
        ...options,
        mounts: [{ name: "redirected", root: repository, access: "rw" }]
      })
      yield* Effect.gen(function*() {
        const { run } = yield* ProcessRunner
        const request = { cwd: repository, keepBytes: 1000 }
        const result = yield* run({ ...request, command: plant })
        expect(result.notes).toEqual([expect.stringContaining("commondir")])
        expect(fs.existsSync(path.join(repository, ".git/commondir"))).toBe(false)
        const ready = yield* Deferred.make<void>()
        const fiber = yield* Effect.fork(run({
          ...request,
          command: `${plant}; echo ready; sleep 100`,
          onOutput: () => Deferred.succeed(ready, undefined)
        }))
        yield* Deferred.await(ready)
        expect(fs.existsSync(path.join(repository, ".git/commondir"))).toBe(true)
        yield* Fiber.interrupt(fiber)
        expect(fs.existsSync(path.join(repository, ".git/commondir"))).toBe(false)
        expect((yield* run({ ...request, command: "git status" })).notes).toEqual([])
      }).pipe(Effect.provide(layer))
    }))

  it.live("holds the git folder of a mount without being told, also where hooks and configuration are missing", () =>
    Effect.gen(function*() {
      const bare = path.join(root, "bare")
      fs.mkdirSync(path.join(bare, ".git"), { recursive: true })
      const result = yield* run(
        "echo x > .git/hooks/pre-commit; echo x > .git/config; touch .git/index; ls -A .git",
        bare
      ).pipe(
        Effect.provide(
          SandboxedProcessRunner.layer({ ...options, mounts: [{ name: "bare", root: bare, access: "rw" }] })
        )
      )
      expect(result.out).toBe("config\nhooks\nindex\n")
      expect(fs.readdirSync(path.join(bare, ".git/hooks"))).toEqual([])
      expect(fs.readFileSync(path.join(bare, ".git/config"), "utf8")).toBe("")
    }))

  it.live("runs npm test", () =>
    Effect.gen(function*() {
      put("workspace/package/package.json", JSON.stringify({ name: "a", scripts: { test: "node --test" } }))
      put("workspace/package/a.test.js", "require('node:test')('a', () => {})")
      const result = yield* run("npm test", path.join(workspace, "package"))
      expect(result).toMatchObject({ code: 0 })
      expect(result.out).toContain("# pass 1")
    }).pipe(Effect.provide(SandboxedProcessRunner.layer(options))))

  it.live("fails typed when the sandbox cannot be set up", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run("true"))
      expect(error).toMatchObject({ _tag: "ProcessError", reason: "no-sandbox" })
      expect(error.message).toContain("bwrap: ")
    }).pipe(Effect.provide(SandboxedProcessRunner.layer({ ...options, setEnvironment: { "A=B": "not a name" } }))))

  it.live("reaches the network where that is allowed, and says so", () =>
    Effect.gen(function*() {
      const { enforcement } = yield* ProcessRunner
      expect(enforcement).toMatchObject({
        network: false,
        weakened: ["Commands may reach the network from their sandbox."]
      })
      expect((yield* run("ls -A /sys 2>/dev/null; wc -l < /proc/net/route")).out.trim())
        .toBe(String(fs.readFileSync("/proc/net/route", "utf8").trimEnd().split("\n").length))
    }).pipe(Effect.provide(SandboxedProcessRunner.layer({ ...options, network: true }))))
})
