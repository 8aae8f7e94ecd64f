/** The command line as a program for the tests in a terminal. */
import process from "node:process"
import { main } from "../src/Main.js"

process.exitCode = await main({ argv: process.argv.slice(2), version: "0.0.0" })
process.stdout.write("", () => process.exit())
