import { inflateRawSync } from "node:zlib"

/** What the first form of small payloads was deflated with. */
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

/** Longer ones were never deflated. */
const longest = 4096

/** The text of a payload that was written before {@link pack} abbreviated; deflating took longer than all else of a write. */
export const inflate = (bytes: Uint8Array): string =>
  inflateRawSync(bytes, { dictionary, windowBits: 12, maxOutputLength: longest }).toString("utf8")
