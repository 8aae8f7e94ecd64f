/** Places that a command should not touch without somebody having looked at it. */
import picomatch from "picomatch"
import { dynamic } from "./shellWords.js"

const roots = [
  "bin",
  "boot",
  "dev",
  "etc",
  "home",
  "lib",
  "lib32",
  "lib64",
  "media",
  "mnt",
  "opt",
  "proc",
  "root",
  "run",
  "sbin",
  "srv",
  "sys",
  "usr",
  "var",
  "Users",
  "System",
  "Library",
  "Applications",
  "Volumes",
  "private",
  "nix"
]

const system =
  /^\/(?:bin|boot|dev|etc|lib\d*|proc|sbin|sys|System|usr\/(?:bin|lib\d*|sbin|share|include|libexec))(?:\/|$)/

const home = /^\/(?:home|Users)\/[^/]+$/

/** All of what is below a folder: `x/`, `x/*`, `x/.*`. */
const everythingBelow = /(?:\/+(?:\*\*?|\.\*|\.\[!\.\]\*|\.\?\?\*|\{\*,\.\*\}|))+$/

/** `.` and `..` taken out, as far as that can be done without looking at links. */
const lexical = (path: string): string => {
  const absolute = path.startsWith("/")
  const kept: Array<string> = []
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue
    if (segment === ".." && kept.length > 0 && kept.at(-1) !== "..") kept.pop()
    else if (segment !== ".." || !absolute) kept.push(segment)
  }
  return (absolute ? "/" : "") + kept.join("/")
}

/** The system takes no longer ones. */
const longestPath = 4_096

const globbing = /[*?[]/

/** What deleting or changing a path with all below it would hit: `root` is what nobody means, `unknown` cannot be told. */
export const reach = (path: string): "root" | "unknown" | "ordinary" => {
  if (path === dynamic || path.length > longestPath) return "unknown"
  // A variable that is empty leaves what follows it.
  const rest = path.startsWith(dynamic) ? path.slice(dynamic.length) : path
  if (rest !== path && !/^\/+(?:\*|\.\*|\.|)$/.test(rest)) return "unknown"
  if (/^\*+$|^\.\*$/.test(rest)) return "root"
  const base = lexical(/^\/+[*.]*$/.test(rest) ? "/" : rest.replace(everythingBelow, "") || "/")
  if (base === "/" || base === "" || /^(?:\.\.\/?)+$/.test(base) || /^~[^/]*$/.test(base)) return "root"
  if (home.test(base) || system.test(base)) return "root"
  const [first, ...deeper] = base.slice(1).split("/")
  if (base.startsWith("/") && deeper.length === 0 && first !== undefined) {
    if (first.includes(dynamic) || roots.includes(first)) return "root"
    if (globbing.test(first) && roots.some((root) => picomatch.isMatch(root, first, { dot: true }))) return "root"
  }
  return base.includes(dynamic) ? "unknown" : "ordinary"
}

const harmlessDevices = /^\/dev\/(?:null|zero|full|u?random|tty|std(?:in|out|err)|fd(?:\/|$)|shm(?:\/|$)|pts\/)/

/** Whether a path is a disk or another device, of which writing destroys or reveals something. */
export const isDevice = (path: string): boolean => {
  const clean = lexical(path)
  return clean.startsWith("/dev/") && !harmlessDevices.test(clean) && !isSocket(clean)
}

/** Whether a path is one of the shell's network connections. */
export const isSocket = (path: string): boolean => /^\/dev\/(?:tcp|udp)\//.test(path)

const written = /^\/(?:bin|boot|etc|lib\d*|sbin|sys|proc|System|usr\/(?:bin|lib\d*|sbin)|var\/spool\/cron)\//
const startup =
  /^(?:~|\/).*\/\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin|login|cshrc|tcshrc|kshrc|inputrc|gitconfig|ssh\/.*|config\/(?:autostart|systemd|fish)\/.*)$/

/** Whether writing a file changes the system or what runs at the next login. */
export const changesSystem = (path: string): boolean => {
  const clean = lexical(path)
  return (written.test(clean) && !clean.startsWith("/proc/self/fd/")) || startup.test(clean) ||
    /(?:^|\/)\.git\/hooks\//.test(clean)
}

const credentials: ReadonlyArray<RegExp> = [
  /(?:^|\/)\.(?:ssh|gnupg|password-store|azure)(?:\/|$)/,
  /(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)[^/.]*$/,
  /(?:^|\/)\.(?:aws\/(?:credentials|config)|config\/(?:gcloud|gh\/hosts\.yml)|docker\/config\.json|kube\/config)/,
  /(?:^|\/)(?:\.netrc|_netrc|\.git-credentials|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.vault-token|\.htpasswd)$/,
  /(?:^|\/)\.(?:bash|zsh|sh|python|node_repl|psql|mysql|sqlite|rediscli|irb)_history$/,
  /^\/etc\/(?:g?shadow-?|sudoers(?:\.d\/.*)?|master\.passwd|ssh\/ssh_host_[^/]*_key)$/,
  /^\/proc\/[^/]+\/(?:environ|mem|maps)$/,
  /(?:^|\/)(?:Login Data|Cookies|key[34]\.db|logins\.json|[^/]*\.keychain(?:-db)?)$/,
  /(?:^|\/)share\/capstan(?:\/|$)|(?:^|\/)capstan\.db(?:-wal|-shm)?$/,
  /(?:^|\/)[^/]*\.(?:pem|p12|pfx|key)$/,
  /(?:^|\/)\.env(?:\.(?!example$|sample$|template$|dist$)[^/]+)?$/
]

/** Whether a word names a file with credentials, or a history; also behind `@` or `=`, as options of programs have it. */
export const isCredential = (word: string): boolean =>
  !/\s/.test(word.replace("Login Data", "")) &&
  [word, ...word.split(/[@=:,]/).slice(1)].some((path) => {
    const clean = lexical(path)
    return credentials.some((pattern) => pattern.test(clean))
  })
