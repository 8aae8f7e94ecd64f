/**
 * A vitest reporter that ends a run with one line for machines, `N passed, N failed`, and names
 * what was skipped and why. With CAPSTAN_FAIL_ON_SKIP=1 a skipped test fails the run, so that a
 * machine that lacks a system part cannot look green.
 */
export default class ClosingLine {
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

    for (const test of skipped) {
      const result = test.result()
      const reason = result.state === "skipped" && result.note !== undefined ? `: ${result.note}` : ""
      console.log(`skipped ${test.module.moduleId.split("/").slice(-3).join("/")} > ${test.fullName}${reason}`)
    }
    if (skipped.length > 0 && process.env["CAPSTAN_FAIL_ON_SKIP"] === "1") {
      console.log("CAPSTAN_FAIL_ON_SKIP=1: a skipped test fails this run")
      process.exitCode = 1
    }
    console.log(`${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`)
  }
}
