/**
 * Capstan model provider for OpenAI and compatible servers.
 *
 * @since 0.1.0
 */
export * as OpenAi from "./OpenAi.js"
export * as OpenAiCompatible from "./OpenAiCompatible.js"
