/**
 * The tools for commands. A further one is one file and one line here.
 *
 * @since 0.1.0
 */
import type { Sandbox } from "@capstan/core/Sandbox"
import type { Tool } from "@capstan/core/Tool"
import * as RunCommand from "./RunCommand.js"
import * as ShellSession from "./ShellSession.js"

/**
 * All tools for commands.
 *
 * @since 0.1.0
 * @category tools
 */
export const all: ReadonlyArray<Tool<Sandbox>> = [RunCommand.tool, ShellSession.tool]
