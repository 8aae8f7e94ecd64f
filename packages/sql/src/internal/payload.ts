import * as Either from "effect/Either"
import { deflateRawSync, inflateRawSync } from "node:zlib"

const plain = 0
const packed = 1

/**
 * What small records consist of, most of it names of fields. Rows are written with exactly these bytes: another dictionary
 * needs another form.
 */
const dictionary = Buffer.from(
  `{"questions":[{"summary":"","detail":"","preview":null,"risk":"medium","mustAsk":true,"warnings":[],"hint":""` +
    `"decision":{"_tag":"ApproveAll"}"by":"terminal"{"_tag":"Each","answers":[{"answer":{"_tag":"Deny","reason":` +
    `"structured":{"_tag":"Failed","failure":{"_tag":"Permission","message":"","suggestedFix":null,"details":{` +
    `"kind":"denied","attempted":"","resolved":null,"pattern":null}"findings":[{"_tag":"Validation""Execution"` +
    `"process":{"pid":,"startTime":"","bootId":"","token":""}"sha256":"","lines":null{"choice":"partial","ended":[]` +
    `{"turn":1,"end":"answered","reason":null}{"content":[{"type":"text","text":""}],"provider":"","model":"","user":` +
    `null,"instructionsHash":""{"type":"reasoning","provider":"anthropic","text":"","data":""}` +
    `{"ref":{"turn":1,"iteration":1,"position":0},"tool":"run_command","argumentsHash":"","edited":null,"repairs":[]}` +
    `{"turn":1,"iteration":1,"parts":[{"type":"text","text":""},{"type":"call","position":0}],"finish":"tool-calls",` +
    `"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"reasoning":0},"prices":{"input":3,"output":15,` +
    `"cacheRead":0.3,"cacheWrite":3.75,"source":"catalogue"}}"prices":null}"finish":"stop"` +
    `{"turn":1,"iteration":1,"refused":[],"asked":[],"stages":[[0]]}` +
    `{"ref":{"turn":1,"iteration":1,"position":0},"call":{"id":"call_","name":"read_file","raw":"{\\"path\\":\\"",` +
    `"arguments":{"path":""},"repairs":[]}}` +
    `{"ref":{"turn":1,"iteration":1,"position":0},"outcome":{"_tag":"Succeeded","content":[{"type":"text","text":""}]},` +
    `"note":null,"reads":[],"durationMillis":1}`
)

/** Longer payloads are left plain: their overhead is small, and packing them would hold up the event loop. */
const longest = 4096

const options = { dictionary, level: 6, memLevel: 5, windowBits: 12, maxOutputLength: longest }

/** JSON text as it is stored: a byte that names the form, and the text in it. */
export const pack = (json: string): Uint8Array => {
  const bytes = Buffer.from(json)
  return bytes.length > longest
    ? Buffer.concat([Buffer.of(plain), bytes])
    : Buffer.concat([Buffer.of(packed), deflateRawSync(bytes, options)])
}

/** JSON text as it was given to {@link pack}; what was tampered with can be anything. */
export const unpack = (payload: Uint8Array): Either.Either<string, unknown> =>
  Either.try(() => {
    const [form] = payload
    if (form !== plain && form !== packed) throw new RangeError(`There is no form ${form} of a payload.`)
    const bytes = payload.subarray(1)
    return Buffer.from(form === packed ? inflateRawSync(bytes, options) : bytes).toString("utf8")
  })
