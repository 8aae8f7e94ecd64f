/**
 * The built-in tools of Capstan.
 *
 * @since 0.1.0
 */
export {}
