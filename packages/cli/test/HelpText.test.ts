import { describe, expect, it } from "@effect/vitest"
import * as HelpText from "../src/HelpText.js"

const text = `capstan

capstan 1.0.0

USAGE

$ capstan [--all] --allow pattern... [<id>]

OPTIONS

--all

  A true or false value.

  Those of every project.

  This setting is optional.

(-h, --help)

  A true or false value.

  Shows this.

  This setting is optional.

COMMANDS

  - run [--model id] <task>      Does one task.

  - approvals [--all] deny [--reason words] <session> <position>...   Says no.

  - tools list                   Lists the tools.`

describe("HelpText", () => {
  it("keeps what is said of each option and command, on a line each", () => {
    expect(HelpText.compact(text, ["capstan", "show"])).toBe(`capstan 1.0.0

USAGE

$ capstan show [options] [<id>]

OPTIONS

  --all
      Those of every project.
  (-h, --help)
      Shows this.

COMMANDS

  run                   Does one task.
  approvals deny        Says no.
  tools list            Lists the tools.`)
  })
})
