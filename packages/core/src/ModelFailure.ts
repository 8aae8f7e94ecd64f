/**
 * From what a service or a connection says to a typed {@link ModelError}: pure, the same for every provider.
 *
 * @since 0.1.0
 */
import { ModelError, type ModelErrorReason } from "./ModelProvider.js"
import * as ModelTimeouts from "./ModelTimeouts.js"

/**
 * Whom a request was for: the provider's id, the base URL, the model, and the time limits it was under.
 *
 * @since 0.1.0
 * @category models
 */
export interface Target {
  readonly provider: string
  readonly url: string
  readonly model: string
  readonly timeouts: ModelTimeouts.ModelTimeouts
}

/**
 * An error that a service reported. `status` is HTTP's, or absent for an error inside a stream; `code` the service's own word
 * for it; `offeredTools` whether the request had tools and the server may not know them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reported {
  readonly status?: number | undefined
  readonly code?: string | undefined
  readonly message: string
  readonly retryAfterMillis?: number | undefined
  readonly offeredTools?: boolean | undefined
  readonly cause?: unknown
}

/**
 * The error for what a service reported.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromReported = (target: Target, reported: Reported): ModelError => {
  const reason = reasonOf(reported)
  return new ModelError({
    reason,
    provider: target.provider,
    message: `${headline(reason, target)} ${said(reported)} ${advice[reason]}`,
    ...(reported.status === undefined ? {} : { status: reported.status }),
    ...(reported.retryAfterMillis === undefined ? {} : { retryAfterMillis: reported.retryAfterMillis }),
    ...(reported.cause === undefined ? {} : { cause: reported.cause })
  })
}

/**
 * The error for a connection that could not be made or was lost, by the code of its cause.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromConnection = (target: Target, cause: unknown): ModelError => {
  const { code, message } = rootOf(cause)
  if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "ETIMEDOUT") {
    return ModelTimeouts.connectError({ ...target, cause })
  }
  const notHttp = code.startsWith("HPE_")
  return new ModelError({
    reason: notHttp ? "bad-response" : "unreachable",
    provider: target.provider,
    message: connectionMessage(target, code, message),
    cause
  })
}

/**
 * An answer that cannot be read.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unreadable = (target: Target, what: string, cause?: unknown): ModelError =>
  new ModelError({
    reason: "bad-response",
    provider: target.provider,
    message: `${target.provider} at ${target.url} sent an answer that cannot be read: ${what}. ` +
      "Check that the address is the right one for this protocol, or try again.",
    ...(cause === undefined ? {} : { cause })
  })

/**
 * An answer that ended before it was complete.
 *
 * @since 0.1.0
 * @category constructors
 */
export const brokenOff = (target: Target): ModelError =>
  new ModelError({
    reason: "unreachable",
    provider: target.provider,
    message: `${target.provider} at ${target.url} closed the connection before the answer was complete. Try again.`
  })

/**
 * Whether sending the same request again can help: rate limits, overload, a server's failure, HTTP 408 and 409, a connection
 * that was lost or took too long to be made. A refused connection, an unknown host, a certificate that is not trusted stay
 * what they are, and nobody waits twice for a first token.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isTransient = (error: ModelError): boolean => {
  switch (error.reason) {
    case "rate-limit":
    case "overloaded":
    case "server":
      return true
    case "unreachable":
      return !isPermanent(rootOf(error.cause))
    case "timeout":
      return error.status !== undefined || error.cause !== undefined
    default:
      return error.status === 409
  }
}

const isPermanent = ({ code, message }: { readonly code: string; readonly message: string }): boolean =>
  permanent.has(code) || isTls(code) || isRedirect(message)

/**
 * What a service asks to wait, in milliseconds: `retry-after-ms`, or `retry-after` as seconds or as a date. `now` is in
 * milliseconds since 1970.
 *
 * @since 0.1.0
 * @category combinators
 */
export const retryAfterMillis = (
  header: (name: string) => string | null | undefined,
  now: number
): number | undefined => {
  const millis = Number.parseFloat(header("retry-after-ms") ?? "")
  const value = header("retry-after") ?? ""
  const seconds = Number.parseFloat(value)
  const wait = Number.isFinite(millis)
    ? millis
    : /^\s*[\d.]+\s*$/.test(value)
    ? seconds * 1000
    : Date.parse(value) - now
  return Number.isFinite(wait) ? Math.max(0, Math.ceil(wait)) : undefined
}

const reasonOf = (reported: Reported): ModelErrorReason => {
  const { code = "", message, status } = reported
  if (contextCodes.has(code) || (isRequestFault(status) && saysContext.test(message)) || status === 413) {
    return "context-length"
  }
  if (reported.offeredTools === true && refusesTools(status, message)) {
    return "unsupported"
  }
  if (noCredit.has(code)) {
    return "permission"
  }
  switch (status) {
    case undefined:
      return byCode.get(code) ?? "server"
    case 401:
      return "authentication"
    case 402:
    case 403:
      return "permission"
    case 404:
      return "not-found"
    case 408:
      return "timeout"
    case 429:
      return "rate-limit"
    case 503:
    case 529:
      return "overloaded"
    default:
      return status >= 500 ? "server" : "bad-request"
  }
}

const isRequestFault = (status: number | undefined): boolean =>
  status === undefined || status === 400 || status === 422 || status === 500

const saysContext =
  /context[ _](length|size|window|limit)|maximum context|prompt is too long|too many (input )?tokens|exceeds? (the )?(available|maximum|model'?s) context|context limit|context.{0,20}overflow/i

const contextCodes: ReadonlySet<string> = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "request_too_large"
])

const noCredit: ReadonlySet<string> = new Set(["insufficient_quota", "billing_error", "billing_hard_limit_reached"])

const refusesTools = (status: number | undefined, message: string): boolean =>
  (status === 400 || status === 404 || status === 422 || status === 500 || status === 501) &&
  /\btools?\b|\btool[_ ](choice|calls?|use)\b|\bfunction[_ -]?call/i.test(message) &&
  /support|enable|require|unknown|unrecogni[sz]ed|unexpected|extra|not (allowed|permitted|implemented|available)|--jinja/i
    .test(
      message
    ) &&
  !/tool_call_id|tool_use_id|must be followed|preceding message|schema/i.test(message)

const byCode: ReadonlyMap<string, ModelErrorReason> = new Map([
  ["authentication_error", "authentication"],
  ["invalid_api_key", "authentication"],
  ["permission_error", "permission"],
  ["not_found_error", "not-found"],
  ["rate_limit_error", "rate-limit"],
  ["rate_limit_exceeded", "rate-limit"],
  ["overloaded_error", "overloaded"],
  ["server_is_overloaded", "overloaded"],
  ["slow_down", "overloaded"],
  ["invalid_request_error", "bad-request"],
  ["invalid_prompt", "bad-request"],
  ["timeout_error", "server"]
])

const headline = (reason: ModelErrorReason, target: Target): string => {
  switch (reason) {
    case "authentication":
      return `${target.provider} did not accept the API key for ${target.url}.`
    case "permission":
      return `${target.provider} does not allow this request.`
    case "not-found":
      return `${target.provider} at ${target.url} does not know the model "${target.model}" or the address.`
    case "rate-limit":
      return `${target.provider} limits the rate of requests.`
    case "overloaded":
      return `${target.provider} is overloaded.`
    case "context-length":
      return `The conversation is too long for "${target.model}".`
    case "unsupported":
      return `The server at ${target.url} takes no tools for "${target.model}".`
    case "bad-request":
      return `${target.provider} refused the request.`
    default:
      return `${target.provider} failed.`
  }
}

const advice: { readonly [reason in ModelErrorReason]: string } = {
  authentication: "Set a valid key.",
  permission: "Check the account's rights, limits and credit.",
  "not-found": "Check the model's name and the base URL.",
  "rate-limit": "Wait, or use another model or account.",
  overloaded: "Try again later.",
  server: "Try again later.",
  "bad-request": "Change the request; sending it again does not help.",
  "context-length": "Shorten the conversation or use a model with a larger window.",
  timeout: "Try again.",
  broken: "Try again.",
  unreachable: "Try again.",
  "bad-response": "Try again.",
  unsupported: "Describe the tools in the prompt instead (emulation), or use another model."
}

const said = (reported: Reported): string => {
  const status = reported.status === undefined ? "" : `HTTP ${reported.status}`
  const message = reported.message.trim().slice(0, 500)
  const words = [status, message].filter((part) => part !== "").join(": ")
  return words === "" ? "It gave no reason." : `It said: ${words.endsWith(".") ? words : `${words}.`}`
}

const connectionMessage = (target: Target, code: string, message: string): string => {
  const { provider, url } = target
  if (code === "ECONNREFUSED") {
    return `Nothing answers at ${url}: connection refused. Start the server there, or correct the base URL.`
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `The host of ${url} cannot be found (${code}). Check the base URL and the network's name service.`
  }
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG") {
    return `The server at ${url} does not speak TLS (${code}). Use http:// in the base URL if it is a local one.`
  }
  if (isTls(code)) {
    return `The certificate of ${url} is not trusted (${code}: ${message}). ` +
      "Check the address, or tell Node of your own authority by NODE_EXTRA_CA_CERTS."
  }
  if (isRedirect(message)) {
    return `${url} redirects elsewhere. Redirects are not followed, so that the API key stays with its host: ` +
      "set the base URL to the final address."
  }
  if (code.startsWith("HPE_")) {
    return `What answers at ${url} does not speak HTTP (${code}). Check the scheme and the port of the base URL.`
  }
  return `The connection to ${provider} at ${url} was lost (${
    code === "" ? message : code
  }). Check the network and try again.`
}

const permanent: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTFOUND", "ERR_INVALID_URL", "ERR_INVALID_PROTOCOL"])

const isTls = (code: string): boolean =>
  /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO$)/.test(code)

const isRedirect = (message: string): boolean => /unexpected redirect/i.test(message)

/** The innermost cause that says something, and the first code on the way to it. */
const rootOf = (error: unknown): { readonly code: string; readonly message: string } => {
  const found = { code: "", message: "" }
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth++) {
    if (found.code === "" && "code" in cause && typeof cause.code === "string") {
      found.code = cause.code
    }
    found.message = cause.message === "" ? found.message : cause.message
  }
  return found
}
