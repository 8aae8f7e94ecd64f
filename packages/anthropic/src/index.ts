/**
 * Capstan model provider for Anthropic.
 *
 * @since 0.1.0
 */
export * as Anthropic from "./Anthropic.js"
