/**
 * Journal, audit and memory of Capstan on an SQL client, SQLite by default.
 *
 * @since 0.1.0
 */
export {}
