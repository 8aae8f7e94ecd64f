import { defineWorkspace } from "vitest/config"

const root = new URL(".", import.meta.url).pathname

/** Tests run from the sources: no build is needed before them. */
const alias = [
  { find: /^@capstan\/([a-z]+)$/, replacement: `${root}packages/$1/src/index.ts` },
  { find: /^@capstan\/([a-z]+)\/(.+)$/, replacement: `${root}packages/$1/src/$2.ts` }
]

const packages = ["core", "dialect", "openai", "anthropic", "node", "sql", "tools", "testing", "cli"]

/**
 * Loading Effect takes longer than most files' tests, so a worker keeps it for all of its files; only those of the command
 * line share a program that each file builds and removes.
 */
const poolOptions = (name: string) => ({ forks: { isolate: name === "cli" } })

export default defineWorkspace([
  ...packages.map((name) => ({
    resolve: { alias },
    test: {
      name,
      root: `${root}packages/${name}`,
      include: ["test/**/*.test.ts"],
      testTimeout: 20_000,
      poolOptions: poolOptions(name)
    }
  })),
  { resolve: { alias }, test: { name: "repository", root, include: ["test/**/*.test.ts"], testTimeout: 60_000 } }
])
