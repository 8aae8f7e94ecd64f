import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"

/** Runs statements on a file as another program would. */
export const change = (filename: string, statements: string) =>
  Effect.sync(() => {
    const database = new Sqlite(filename)
    try {
      database.exec(statements)
    } finally {
      database.close()
    }
  })

/** Makes the owner of every session one of another host that was last heard of at `beat`. */
export const asElsewhere = (filename: string, beat: number) =>
  change(filename, `update capstan_session set owner = json_set(owner, '$.host', 'elsewhere'), beat = ${beat}`)
