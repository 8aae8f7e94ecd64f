/**
 * How models speak tools: native, in prose, or wrapped in someone else's format.
 *
 * @since 0.1.0
 */
export {}
