import { defineWorkspace } from "vitest/config"

const root = new URL(".", import.meta.url).pathname

/** Tests run from the sources: no build is needed before them. */
const alias = [
  { find: /^@capstan\/([a-z]+)$/, replacement: `${root}packages/$1/src/index.ts` },
  { find: /^@capstan\/([a-z]+)\/(.+)$/, replacement: `${root}packages/$1/src/$2.ts` }
]

const packages = ["core", "dialect", "openai", "anthropic", "node", "sql", "tools", "testing", "cli"]

export default defineWorkspace([
  ...packages.map((name) => ({
    resolve: { alias },
    test: { name, root: `${root}packages/${name}`, include: ["test/**/*.test.ts"], testTimeout: 20_000 }
  })),
  { resolve: { alias }, test: { name: "repository", root, include: ["test/**/*.test.ts"], testTimeout: 60_000 } }
])
