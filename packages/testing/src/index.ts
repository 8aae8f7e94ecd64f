/**
 * Scripted models, a fake sandbox, crash points and conformance suites for Capstan.
 *
 * @since 0.1.0
 */
export {}
