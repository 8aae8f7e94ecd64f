import * as Either from "effect/Either"
import { inflate } from "./deflated.js"

const plain = 0
const deflated = 1
const abbreviated = 2

/**
 * What small records consist of, most of it names of fields. Each phrase is stored as a control character, which JSON never
 * holds as it is, the later ones as two characters. Rows are written with exactly these, in this order: more can be added at
 * the end, anything else needs another form.
 */
const phrases: ReadonlyArray<string> = [
  `{"ref":{"turn":`,
  `,"iteration":`,
  `,"position":`,
  `{"turn":`,
  `},"call":{"id":"`,
  `","name":"`,
  `","raw":"`,
  `","arguments":{"`,
  `,"repairs":[`,
  `]}}`,
  `"parts":[{"type":"text","text":"`,
  `"}`,
  `{"type":"text","text":"`,
  `{"type":"call"`,
  `],"finish":"tool-calls","usage":{"input":`,
  `,"output":`,
  `,"cacheRead":`,
  `,"cacheWrite":`,
  `,"reasoning":`,
  `},"prices":{"input":`,
  `,"source":"`,
  `,"millis":`,
  `,"refused":[],"asked":[],"stages":[[`,
  `},"tool":"`,
  `","safety":"`,
  `","at":`,
  `,"argumentsHash":"`,
  `,"edited":null`,
  `},"outcome":{"_tag":"Succeeded","content":[`,
  `,"note":null,"reads":[],"written":`,
  `,"durationMillis":`,
  `,"prices":null`,
  `],"finish":"stop","usage":`,
  `{"path":"`,
  `{\\"path\\":\\"`,
  `read-only`,
  `side-effect`,
  `catalogue`,
  `,"structured":`,
  `{"_tag":"`,
  `","failure":`,
  `"message":"`,
  `,"suggestedFix":null`,
  `,"details":{"`,
  `"kind":"`,
  `","attempted":"`,
  `,"resolved":null`,
  `,"pattern":null`,
  `{"type":"reasoning","provider":"`,
  `,"sha256":"`,
  `,"lines":null`,
  `{"questions":[`,
  `,"risk":"`,
  `,"summary":"`,
  `,"detail":"`,
  `,"preview":null`,
  `,"warnings":[`,
  `"decision":{"_tag":"`,
  `,"process":{"pid":`,
  `,"startTime":"`,
  `,"bootId":"`,
  `,"token":"`,
  `,"end":"answered","reason":null`,
  `},"at":`,
  `,"tool":"`,
  `,"polls":false`,
  `,"outcome":{"_tag":"Succeeded","content":[`,
  `,"outcome":{"_tag":"`,
  `],"finish":"tool-calls","usage":null`,
  `],"finish":"stop","usage":null`,
  `,"content":[`,
  `,"provider":"`,
  `,"model":"`,
  `,"user":null,"parent":null,"instructionsHash":"`
]

const escape = "\u001f"
const codes = new Map(
  phrases.map((phrase, index) =>
    [phrase, index < 31 ? String.fromCharCode(index) : escape + String.fromCharCode(index + 1)] as const
  )
)
const meanings = new Map([...codes].map(([phrase, code]) => [code, phrase] as const))
const anyPhrase = new RegExp(
  [...phrases].sort((a, b) => b.length - a.length).map((phrase) => phrase.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(
    "|"
  ),
  "g"
)
const anyCode = new RegExp(`${escape}[^]|[${String.fromCharCode(0)}-${String.fromCharCode(30)}]`, "g")

/** Longer payloads are left plain: their overhead is small. */
const longest = 4096

/** JSON text as it is stored: a byte that names the form, and the text in it. */
export const pack = (json: string): Uint8Array =>
  json.length > longest
    ? Buffer.from(String.fromCharCode(plain) + json)
    : Buffer.from(String.fromCharCode(abbreviated) + json.replace(anyPhrase, (phrase) => codes.get(phrase) ?? phrase))

/** JSON text as it was given to {@link pack}; what was tampered with can be anything. */
export const unpack = (payload: Uint8Array): Either.Either<string, unknown> =>
  Either.try(() => {
    const [form] = payload
    const bytes = payload.subarray(1)
    if (form === deflated) return inflate(bytes)
    const text = Buffer.from(bytes).toString("utf8")
    if (form === plain) return text
    if (form === abbreviated) return text.replace(anyCode, meaningOf)
    throw new RangeError(`There is no form ${form} of a payload.`)
  })

const meaningOf = (code: string): string => {
  const phrase = meanings.get(code)
  if (phrase === undefined) throw new RangeError("A payload holds a code without a meaning.")
  return phrase
}
