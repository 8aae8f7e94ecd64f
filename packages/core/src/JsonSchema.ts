/**
 * JSON Schema (2020-12) as data, and checking values against one that somebody else wrote.
 *
 * @since 0.1.0
 */
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js"
import * as Either from "effect/Either"
import type { Finding } from "./Finding.js"

/**
 * A JSON Schema object, kept as it was given.
 *
 * @since 0.1.0
 * @category models
 */
export type JsonSchema = { readonly [key: string]: unknown }

/**
 * Compiles a schema into a check that gives the value back or lists what is wrong with it. A schema that cannot be compiled
 * is returned as the reason.
 *
 * @since 0.1.0
 * @category constructors
 */
export const validator = (
  schema: JsonSchema
): Either.Either<(value: unknown) => Either.Either<unknown, ReadonlyArray<Finding>>, string> =>
  Either.try({
    try: () => {
      const validate = new Ajv2020({ allErrors: true, strict: false, verbose: true }).compile(schema)
      return (value: unknown) =>
        validate(value) ? Either.right(value) : Either.left((validate.errors ?? []).map(toFinding))
    },
    catch: (error) => error instanceof Error ? error.message : String(error)
  })

const toFinding = (error: ErrorObject): Finding => ({
  path: error.instancePath === "" ? "" : error.instancePath.slice(1).replaceAll("/", "."),
  expected: error.message ?? error.keyword,
  received: describe(error.data),
  fix: fixOf(error)
})

const fixOf = (error: ErrorObject): string => {
  switch (error.keyword) {
    case "required":
      return `Add the property "${String(error.params["missingProperty"])}".`
    case "additionalProperties":
      return `Take out the property "${String(error.params["additionalProperty"])}".`
    case "enum":
      return `Use one of ${JSON.stringify(error.params["allowedValues"])}.`
    default:
      return `Send a value that ${error.message ?? "fits the schema"}.`
  }
}

/**
 * A value in at most 80 characters, for a finding.
 *
 * @since 0.1.0
 * @category combinators
 */
export const describe = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`
}
