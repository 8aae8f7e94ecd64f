import * as ModelFailure from "@capstan/core/ModelFailure"
import * as ModelTimeouts from "@capstan/core/ModelTimeouts"
import { describe, expect, it } from "@effect/vitest"

const target: ModelFailure.Target = {
  provider: "test",
  url: "http://127.0.0.1:9/v1",
  model: "m",
  timeouts: ModelTimeouts.defaults
}

const coded = (code: string, message = "") =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) })

describe("ModelFailure", () => {
  it.each(
    [
      [{ status: 400, message: "bad" }, "bad-request"],
      [{ status: 401, message: "key" }, "authentication"],
      [{ status: 402, message: "pay" }, "permission"],
      [{ status: 403, message: "no" }, "permission"],
      [{ status: 404, message: "model" }, "not-found"],
      [{ status: 408, message: "" }, "timeout"],
      [{ status: 409, message: "" }, "bad-request"],
      [{ status: 413, message: "Request exceeds the maximum size" }, "context-length"],
      [{ status: 429, message: "slow down" }, "rate-limit"],
      [{ status: 429, code: "insufficient_quota", message: "quota" }, "permission"],
      [{ status: 500, message: "" }, "server"],
      [{ status: 503, message: "" }, "overloaded"],
      [{ status: 529, message: "" }, "overloaded"],
      [{ code: "overloaded_error", message: "" }, "overloaded"],
      [{ code: "rate_limit_exceeded", message: "" }, "rate-limit"],
      [{ code: "server_error", message: "" }, "server"],
      [{ status: 400, code: "context_length_exceeded", message: "" }, "context-length"],
      [{ status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" }, "context-length"],
      [{ status: 400, message: "This model's maximum context length is 4096 tokens." }, "context-length"],
      [{ status: 400, message: "the request exceeds the available context size" }, "context-length"],
      [{ status: 500, message: "context size has been exceeded by the context overflow" }, "context-length"]
    ] as const
  )("reads %j", (reported, reason) => {
    const error = ModelFailure.fromReported(target, reported)
    expect(error).toMatchObject({ reason, provider: "test" })
    expect(error.message).toMatch(/\.$/)
  })

  it.each([
    [400, "registry/library/gemma:2b does not support tools"],
    [400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"],
    [500, "tools param requires --jinja flag"],
    [404, "No endpoints found that support tool use."],
    [422, "Extra inputs are not permitted: tools"]
  ])("tells a server that takes no tools by %s %s", (status, message) => {
    expect(ModelFailure.fromReported(target, { status, message, offeredTools: true }).reason).toBe("unsupported")
    expect(ModelFailure.fromReported(target, { status, message }).reason).not.toBe("unsupported")
  })

  it.each([
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    "Invalid schema for function 'x': type is required",
    "max_tokens is too large"
  ])("does not take another fault for that: %s", (message) => {
    expect(ModelFailure.fromReported(target, { status: 400, message, offeredTools: true }).reason).toBe("bad-request")
  })

  it.each([
    ["ECONNREFUSED", "unreachable", /connection refused. Start the server/, false],
    ["ENOTFOUND", "unreachable", /cannot be found/, false],
    ["EAI_AGAIN", "unreachable", /cannot be found/, true],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "unreachable", /not trusted/, false],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "unreachable", /not trusted/, false],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "unreachable", /does not speak TLS.*http:/, false],
    ["HPE_INVALID_CONSTANT", "bad-response", /does not speak HTTP/, false],
    ["ECONNRESET", "unreachable", /was lost/, true],
    ["UND_ERR_SOCKET", "unreachable", /was lost/, true],
    ["UND_ERR_CONNECT_TIMEOUT", "timeout", /Waited 10 s for a connection to http:\/\/127.0.0.1:9\/v1/, true],
    ["ETIMEDOUT", "timeout", /Waited 10 s for a connection/, true]
  ])("says what to do about %s", (code, reason, message, passing) => {
    const error = ModelFailure.fromConnection(target, coded(code, "details"))
    expect(error.reason).toBe(reason)
    expect(error.message).toMatch(message)
    expect(error.message).toContain("127.0.0.1:9")
    expect(ModelFailure.isTransient(error)).toBe(passing)
  })

  it("does not follow a redirect with the key", () => {
    const error = ModelFailure.fromConnection(
      target,
      new TypeError("fetch failed", { cause: new Error("unexpected redirect") })
    )
    expect(error.message).toContain("Redirects are not followed")
    expect(ModelFailure.isTransient(error)).toBe(false)
  })

  it.each([
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "1500", "retry-after": "2" }, 1_500],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:10 GMT" }, 9_000],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined]
  ])("reads the wait in %j", (headers: Readonly<Record<string, string>>, millis) => {
    expect(ModelFailure.retryAfterMillis((name) => headers[name], 1_000)).toBe(millis)
  })

  it("keeps what the service said, shortened", () => {
    const error = ModelFailure.fromReported(target, { status: 400, message: "x".repeat(2_000) })
    expect(error.message).toContain("HTTP 400: xxx")
    expect(error.message.length).toBeLessThan(800)
  })
})
