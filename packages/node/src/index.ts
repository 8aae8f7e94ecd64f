/**
 * The real machine for Capstan: files, processes and network behind one sandbox.
 *
 * @since 0.1.0
 */
export * as CommandEnvironment from "./CommandEnvironment.js"
export * as HostProcessRunner from "./HostProcessRunner.js"
