/**
 * The chain that ties the rows of a session together: each row carries the hash of what it says and of the row before, and
 * the session keeps the last one. A row that is changed, removed, moved or cut off breaks it.
 *
 * @since 0.1.0
 */
import { createHash } from "node:crypto"

/**
 * A row as it is stored, before anything is made of it. `at` in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Link {
  readonly seq: number
  readonly at: number
  readonly version: number
  readonly kind: string
  readonly payload: Uint8Array
}

/**
 * A stored row with the hash (32 bytes) that stands beside it.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoredLink extends Link {
  readonly hash: Uint8Array
}

/**
 * A place where a chain does not hold. `changed`: the row does not say what was written, or its hash was replaced;
 * `removed`: no row has this `seq`, though later ones are there; `added`: more rows than were ever written; `cut-off`: the
 * last rows are gone, from this `seq` on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Break {
  readonly kind: "changed" | "removed" | "added" | "cut-off"
  readonly seq: number
}

/**
 * What the first row of a session is chained to, so that a row cannot be passed off as another session's.
 *
 * @since 0.1.0
 * @category constructors
 */
export const genesis = (session: string): Uint8Array => createHash("sha256").update(session).digest()

/**
 * The hash (SHA-256, 32 bytes) of a row that follows `previous`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const hash = (previous: Uint8Array, link: Link): Uint8Array =>
  createHash("sha256")
    .update(previous)
    .update(`${link.seq}\n${link.at}\n${link.version}\n${link.kind}\n`)
    .update(link.payload)
    .digest()

/**
 * Every place where the rows of a session (in order of `seq`) are not what was written. `head` is the hash of the last row
 * and `records` their number, as the session keeps them.
 *
 * @since 0.1.0
 * @category combinators
 */
export const verify = (options: {
  readonly session: string
  readonly head: Uint8Array
  readonly records: number
  readonly rows: ReadonlyArray<StoredLink>
}): ReadonlyArray<Break> => {
  const breaks: Array<Break> = []
  let previous: Uint8Array | undefined = genesis(options.session)
  let expected = 1
  for (const row of options.rows) {
    for (; expected < row.seq; expected++) {
      breaks.push({ kind: "removed", seq: expected })
      previous = undefined
    }
    if (row.seq > options.records) breaks.push({ kind: "added", seq: row.seq })
    else if (previous !== undefined && !equal(hash(previous, row), row.hash)) {
      breaks.push({ kind: "changed", seq: row.seq })
    }
    previous = row.hash
    expected = row.seq + 1
  }
  if (expected <= options.records) breaks.push({ kind: "cut-off", seq: expected })
  else if (breaks.length === 0 && previous !== undefined && !equal(previous, options.head)) {
    breaks.push({ kind: "changed", seq: options.records })
  }
  return breaks
}

const equal = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index])
