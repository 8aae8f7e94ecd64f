/**
 * Nouns, service tags and the loop of Capstan, a durable tool-calling runtime for any language model.
 *
 * @since 0.1.0
 */
export {}
