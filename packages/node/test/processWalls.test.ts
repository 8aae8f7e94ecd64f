import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { build } from "esbuild"
import { execFile, execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll } from "vitest"
import { confines } from "./processCases.js"

const isRoot = process.getuid?.() === 0
if (!isRoot) process.stderr.write("No test as another user: only root can become one.\n")

/** Belongs to nobody, so that no account has to be made and removed. */
const stranger = 54_323
const users = [
  { name: "this user", user: undefined },
  ...(isRoot ? [{ name: "an ordinary user", user: stranger }] : [])
]

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-walls-test-")))
const program = path.join(root, "runtime.mjs")

beforeAll(() => {
  fs.chmodSync(root, 0o755)
  const sources = fileURLToPath(new URL("../../", import.meta.url))
  return build({
    entryPoints: [fileURLToPath(new URL("processRuntime.ts", import.meta.url))],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    alias: { "@capstan/core": `${sources}core/src`, "@capstan/node": `${sources}node/src/index.ts` },
    external: ["@vscode/ripgrep"],
    logLevel: "error"
  })
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const Last = Schema.parseJson(Schema.Struct({
  outcome: Schema.Struct({
    right: Schema.Struct({
      exit: Schema.Struct({ code: Schema.Number }),
      stdout: Schema.Struct({ head: Schema.String }),
      stderr: Schema.Struct({ head: Schema.String })
    })
  })
}))

const listening = (address: string | number) =>
  Effect.acquireRelease(
    Effect.async<net.Server>((resume) => {
      const server = net.createServer((socket) => socket.end("reached"))
      if (typeof address === "number") server.listen(address, "127.0.0.1", () => resume(Effect.succeed(server)))
      else server.listen(address, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )

const portOf = (server: net.Server): number => {
  const address = server.address()
  return address !== null && typeof address === "object" ? address.port : 0
}

describe.skipIf(!confines).each(users)("the sandbox of $name", ({ name, user }) => {
  const home = path.join(root, name.replaceAll(" ", "-"))
  const workspace = path.join(home, "project")
  const put = (file: string, text: string) => {
    fs.mkdirSync(path.dirname(path.join(home, file)), { recursive: true })
    fs.writeFileSync(path.join(home, file), text)
  }
  beforeAll(() => {
    fs.mkdirSync(workspace, { recursive: true })
    put(".gitconfig", "[user]\n\tname = A\n\temail = a@example.org\n")
    put(".ssh/id_ed25519", "SECRET-1")
    put("project/.env", "SECRET-2")
    put("project/secrets/deep", "SECRET-3")
    put("project/Server.KEY", "SECRET-4")
    put("beside", "SECRET-5")
    fs.symlinkSync("../beside", path.join(workspace, "link"))
    put("project/package.json", JSON.stringify({ name: "a", scripts: { test: "node --test a.test.js" } }))
    put("project/a.test.js", "require('node:test')('a', () => {})")
    if (user !== undefined) execFileSync("chown", ["-R", `${user}:${user}`, home])
  })

  const run = (command: string) =>
    Effect.async<{ readonly code: number; readonly out: string; readonly err: string }>((resume) => {
      execFile(process.execPath, [program, "sandbox", workspace, command], {
        cwd: "/",
        env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: home, TMPDIR: os.tmpdir(), MY_TOKEN: "SECRET-6" },
        ...(user === undefined ? {} : { uid: user, gid: user })
      }, (_error, stdout, stderr) => {
        const last = stdout.trim().split("\n").at(-1) ?? ""
        resume(Effect.sync(() => {
          expect(stderr).toBe("")
          const { exit, stderr: err, stdout: out } = Schema.decodeUnknownSync(Last)(last).outcome.right
          return { code: exit.code, out: out.head, err: err.head }
        }))
      })
    })

  it.live("keeps writes inside", () =>
    Effect.gen(function*() {
      const places = [
        home,
        root,
        "/",
        "/etc",
        "/usr/bin",
        "/var",
        "/opt",
        "/dev/shm",
        "/home",
        "/root",
        "/srv",
        "/sys/kernel"
      ]
      const mark = `capstan-wall-${process.pid}`
      const { out } = yield* run(
        `for p in ${
          places.join(" ")
        }; do echo x > $p/${mark}; mkdir $p/${mark}-folder; done; rm -rf ${home}/beside ${home}/.ssh; mv ${workspace} ${workspace}-moved; ln ${home}/beside hard; echo x > link; echo x > kept; cat kept`
      )
      expect(out).toBe("x\n")
      expect(
        places.flatMap((place) => [`${place}/${mark}`, `${place}/${mark}-folder`]).filter((one) => fs.existsSync(one))
      )
        .toEqual([])
      expect(fs.readFileSync(path.join(home, "beside"), "utf8")).toBe("SECRET-5")
      expect(fs.readFileSync(path.join(home, ".ssh/id_ed25519"), "utf8")).toBe("SECRET-1")
      expect(fs.readFileSync(path.join(workspace, "kept"), "utf8")).toBe("x\n")
    }))

  it.live("hides secrets, however they are reached", () =>
    Effect.gen(function*() {
      const { out } = yield* run(
        `cat ~/.ssh/id_ed25519 .env secrets/deep Server.KEY ../beside link /etc/shadow; cat /proc/1/root${home}/beside /proc/*/root${workspace}/.env /proc/*/cwd/.env; tar c . | grep -a SECRET; grep -r SECRET / --include=.env --include=beside --include=*.KEY -s --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr; cp .env copy; cat copy; env; cat /proc/*/environ; umount .env; mount -t tmpfs none secrets; true`
      )
      expect(out).not.toContain("SECRET")
      expect(out).not.toMatch(/^root:[^x]/m)
    }))

  it.scopedLive("has no network, and reaches no Unix socket", () =>
    Effect.gen(function*() {
      const port = portOf(yield* listening(0))
      const run_ = fs.existsSync("/run") && isRoot ? [`/run/capstan-wall-${process.pid}`] : []
      const sockets = [
        `/var/tmp/capstan-wall-${process.pid}`,
        path.join(os.tmpdir(), `capstan-wall-${process.pid}`),
        ...run_
      ]
      for (const socket of sockets) {
        yield* listening(socket)
        fs.chmodSync(socket, 0o777)
      }
      const abstract = `\0capstan-wall-${process.pid}`
      yield* listening(abstract)
      put(
        "project/connect.cjs",
        `const net = require("node:net"), dgram = require("node:dgram"), dns = require("node:dns")
const tried = (name, socket) => { socket.on("data", (data) => console.log(name, String(data))); socket.on("error", () => {}) }
for (const path of ${JSON.stringify([...sockets, abstract])}) tried(path, net.connect(path))
for (const host of ["127.0.0.1", "::1", "169.254.169.254", "1.1.1.1"]) tried(host, net.connect(${port}, host))
dns.lookup("example.org", (error) => error || console.log("resolved"))
dgram.createSocket("udp4").on("error", () => {}).send("x", 53, "1.1.1.1", (error) => error || console.log("sent"))
setTimeout(() => { console.log("done"); process.exit() }, 400)
`
      )
      const { out } = yield* run(`node connect.cjs; cat < /dev/tcp/127.0.0.1/${port}; cat /sys/class/net/*/address`)
      expect(out).toBe("done\n")
    }))

  it.live("leaves kernel, namespaces and other processes alone", () =>
    Effect.gen(function*() {
      const { out } = yield* run(
        `for f in kernel/core_pattern kernel/hostname kernel/modprobe vm/drop_caches fs/binfmt_misc/register; do { true >> /proc/sys/$f; } && echo open-$f; done; echo x > /proc/sysrq-trigger && echo open-sysrq; for n in -Ur -Um -Un -Up -m -n -p; do unshare $n true && echo open-unshare$n; done; bwrap --ro-bind / / --unshare-user true && echo open-bwrap; chroot / true && echo open-chroot; mknod x c 1 1 && echo open-mknod; mount -o remount,rw / && echo open-mount; kill -0 ${process.pid} && echo open-kill; dmesg >/dev/null && echo open-dmesg; ls -d /proc/[0-9]* | wc -l; grep -h CapEff /proc/self/status; grep NoNewPrivs /proc/self/status`
      )
      expect(out).not.toContain("open")
      expect(Number(out.split("\n")[0])).toBeLessThan(8)
      expect(out).toContain("CapEff:\t0000000000000000\nNoNewPrivs:\t1\n")
    }))

  it.live("lets ordinary work through", () =>
    Effect.gen(function*() {
      const { code, err, out } = yield* run(
        "git init -q . && git add package.json && git commit -q -m first && git log --format='%an %s' && npm test"
      )
      expect({ code, err: err.replace(/^npm (?:warn|notice).*\n/gm, "") }).toEqual({ code: 0, err: "" })
      expect(out).toContain("A first\n")
      expect(out).toContain("# pass 1")
    }))
})
