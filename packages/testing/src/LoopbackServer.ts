/**
 * A real HTTP server on loopback that answers as a test says: streams that end, break off or hang, and errors.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as http from "node:http"
import type { AddressInfo } from "node:net"

/**
 * A request that the server got; `body` is its JSON, null where it had none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Received {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: unknown
}

/**
 * Answers one request: the n-th handler the n-th, the last one all that follow.
 *
 * @since 0.1.0
 * @category models
 */
export type Handler = (response: http.ServerResponse, received: Received) => void

const portOf = (address: string | AddressInfo | null): number =>
  typeof address === "object" && address !== null ? address.port : 0

/**
 * A server on loopback, and what it received. Connections still open at the end are cut.
 *
 * @since 0.1.0
 * @category constructors
 */
export const serve = (...handlers: ReadonlyArray<Handler>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<{ readonly server: http.Server; readonly received: Array<Received> }>((resume) => {
        const received: Array<Received> = []
        const server = http.createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const text = Buffer.concat(chunks).toString()
            const entry = {
              path: request.url ?? "",
              headers: request.headers,
              body: text === "" ? null : JSON.parse(text)
            }
            const handler = handlers[Math.min(received.length, handlers.length - 1)]
            received.push(entry)
            handler?.(response, entry)
          })
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, received })))
      }),
      ({ server }) =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    ),
    ({ received, server }) => ({ received, url: `http://127.0.0.1:${portOf(server.address())}` })
  )

/**
 * A port where nothing listens.
 *
 * @since 0.1.0
 * @category constructors
 */
export const closedPort = Effect.map(Effect.scoped(serve()), ({ url }) => url)

/**
 * Server-sent events as text: strings as they are, other values as JSON under their `type`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const events = (...list: ReadonlyArray<unknown>): string =>
  list.map((event) => {
    const type = typeof event === "object" && event !== null && "type" in event ? `event: ${String(event.type)}\n` : ""
    return `${type}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`
  }).join("")

/**
 * A whole stream of events.
 *
 * @since 0.1.0
 * @category constructors
 */
export const stream = (...list: ReadonlyArray<unknown>): Handler => (response) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.end(events(...list))
}

/**
 * The beginning of a stream, then the connection is dropped.
 *
 * @since 0.1.0
 * @category constructors
 */
export const dropAfter = (...list: ReadonlyArray<unknown>): Handler => (response) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(events(...list), () => setImmediate(() => response.destroy()))
}

/**
 * The beginning of a stream, then nothing; `closed` is told when the client is gone.
 *
 * @since 0.1.0
 * @category constructors
 */
export const hang = (closed: () => void, ...list: ReadonlyArray<unknown>): Handler => (response) => {
  response.on("close", closed)
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.flushHeaders()
  if (list.length > 0) response.write(events(...list))
}

/**
 * Dropped before anything was said.
 *
 * @since 0.1.0
 * @category constructors
 */
export const drop: Handler = (response) => response.destroy()

/**
 * An answer in JSON with a status and headers.
 *
 * @since 0.1.0
 * @category constructors
 */
export const status = (
  code: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {}
): Handler =>
(response) => {
  response.writeHead(code, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}
