import { relative } from "node:path"

/**
 * A vitest reporter that ends a run with one line for machines, `N passed, N failed`, and names
 * what was skipped and why. With CAPSTAN_FAIL_ON_SKIP=1 a skipped test fails the run, so that a
 * machine that lacks a system part cannot look green.
 */
export default class ClosingLine {
  /** @type {ReadonlyArray<string>} */
  #lines = []

  onInit() {
    // Vitest writes its own summary after the reporters ran: what must come last waits for the end.
    process.once("exit", () => this.#lines.forEach((line) => console.log(line)))
  }

  /**
   * @param {ReadonlyArray<import("vitest/node").TestModule>} modules
   * @param {ReadonlyArray<unknown>} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const passed = tests.filter((test) => test.result().state === "passed").length
    const skipped = tests.filter((test) => test.result().state === "skipped")
    // A file or suite that breaks outside of its tests, or an error nobody awaited, is a failure too.
    const suites = modules.flatMap((module) => [...module.children.allSuites()])
    const broken = [...modules, ...suites].filter((part) => part.errors().length > 0).length
    const failed = tests.filter((test) => test.result().state === "failed").length + broken + unhandledErrors.length
    const skipFails = skipped.length > 0 && process.env["CAPSTAN_FAIL_ON_SKIP"] === "1"

    if (skipFails) process.exitCode = 1
    this.#lines = [
      ...skipped.map(skippedLine),
      ...(skipFails ? ["CAPSTAN_FAIL_ON_SKIP=1: a skipped test fails this run"] : []),
      `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`
    ]
  }
}

/** @param {import("vitest/node").TestCase} test */
const skippedLine = (test) => {
  const result = test.result()
  const reason = result.state === "skipped" && result.note !== undefined ? `: ${result.note}` : ""
  return `skipped ${relative(process.cwd(), test.module.moduleId)} > ${test.fullName}${reason}`
}
