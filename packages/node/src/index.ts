/**
 * The real machine for Capstan: files, processes and network behind one sandbox.
 *
 * @since 0.1.0
 */
export * as BubblewrapProbe from "./BubblewrapProbe.js"
export * as CommandEnvironment from "./CommandEnvironment.js"
export * as DenyRules from "./DenyRules.js"
export * as DisabledProcessRunner from "./DisabledProcessRunner.js"
export * as FileOutputStore from "./FileOutputStore.js"
export * as HostProcessRunner from "./HostProcessRunner.js"
export * as NodeProcessRunner from "./NodeProcessRunner.js"
export * as NodeSandbox from "./NodeSandbox.js"
export * as NodeWorkspace from "./NodeWorkspace.js"
export * as PathRules from "./PathRules.js"
export * as SandboxedProcessRunner from "./SandboxedProcessRunner.js"
