/**
 * The Capstan command line.
 *
 * @since 0.1.0
 */
export {}
