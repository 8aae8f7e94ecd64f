/**
 * What the demo's model says, written beforehand. Answers are counted from the history that it is sent, so that a process
 * that takes the session over goes on where the last one stopped.
 *
 * @since 0.1.0
 */
import type { ModelProvider, ModelRequest } from "@capstan/core/ModelProvider"
import * as ScriptedModel from "@capstan/testing/ScriptedModel"
import type * as Layer from "effect/Layer"

/**
 * What the user asks for.
 *
 * @since 0.1.0
 * @category constants
 */
export const task = "The tests of this project fail. Make them pass, and say in CHANGES.md what you changed."

/**
 * The tool that the model makes up.
 *
 * @since 0.1.0
 * @category constants
 */
export const invented = "read_source_file"

const test = { name: "run_command", arguments: { command: "node --test", description: "Run the tests" } }

const read = (path: string) => ({ name: "read_file", arguments: { path } })

const changes = {
  name: "write_file",
  arguments: {
    path: "CHANGES.md",
    content: "- prices.json is in cents.\n- The discount begins at ten pieces, not at eleven.\n"
  }
}

const answers: ReadonlyArray<ScriptedModel.Step> = [
  ScriptedModel.calls([
    { name: "list_directory", arguments: { path: ".", recursive: true } },
    { name: "search_files", arguments: { pattern: "cents" } },
    test
  ], { text: "I look at the project and run its tests." }),
  ScriptedModel.calls([
    { name: invented, arguments: { path: "src/total.js" } },
    read("test/total.test.js")
  ], { text: "Two tests fail. I read what they test." }),
  ScriptedModel.calls([read("src/total.js"), read("prices.json"), read("scripts/to-cents.js")], {
    text: "The first name was wrong: it is read_file."
  }),
  ScriptedModel.calls([{
    name: "edit_file",
    arguments: { path: "src/total.js", old_text: "pieces > 10", new_text: "pieces >= 10" }
  }], { text: "The discount begins one piece too late." }),
  ScriptedModel.calls([
    read("src/total.js"),
    {
      name: "run_command",
      arguments: {
        command: "node scripts/to-cents.js",
        timeout_seconds: 120,
        description: "Convert the prices, once"
      }
    },
    changes
  ], { text: "The prices are in euros. I convert them, which must happen only once." }),
  ScriptedModel.calls([read("prices.json"), read("migrations.log")], {
    text: "I was cut off while the prices were converted. I look at what is true now."
  }),
  ScriptedModel.calls([changes, test], {
    text: "They are converted, so I do not do it again. CHANGES.md was never written: that, and the tests."
  }),
  ScriptedModel.text("The tests pass: the discount begins at ten pieces, and prices.json is in cents.")
]

const isDenied = ({ messages }: ModelRequest): boolean => {
  const last = messages.at(-1)
  return last?.role === "tool" &&
    last.results.some(({ content, isError }) =>
      isError && content.some((part) => part.type === "text" && part.text.includes("denied this call"))
    )
}

/**
 * The model. It stops when a call was denied. Every request is held to the rules of all providers.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ModelProvider | ScriptedModel.ScriptedModel> = ScriptedModel.layer((request) => {
  if (isDenied(request)) return ScriptedModel.text("You denied that, and my script knows no other way. I stop here.")
  const given = request.messages.filter(({ role }) => role === "assistant").length
  return answers[given] ?? ScriptedModel.text("My script ends here.")
})
