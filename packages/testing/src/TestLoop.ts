/**
 * The whole tool loop with nothing real in it: a scripted model, scripted approvals, a machine and a journal in memory.
 *
 * @since 0.1.0
 */
import type { Approval } from "@capstan/core/Approval"
import type { ApprovalPolicy } from "@capstan/core/ApprovalPolicy"
import * as ApprovalStore from "@capstan/core/ApprovalStore"
import * as Journal from "@capstan/core/Journal"
import { Limits, strict, type Values } from "@capstan/core/Limits"
import type { ModelProvider } from "@capstan/core/ModelProvider"
import type { ProcessRunner } from "@capstan/core/ProcessRunner"
import type { Sandbox } from "@capstan/core/Sandbox"
import type { Tool } from "@capstan/core/Tool"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as ToolRegistry from "@capstan/core/ToolRegistry"
import type { Workspace } from "@capstan/core/Workspace"
import * as Layer from "effect/Layer"
import * as FakeSandbox from "./FakeSandbox.js"
import * as ScriptedApproval from "./ScriptedApproval.js"
import * as ScriptedModel from "./ScriptedModel.js"

/**
 * Everything that a test of the loop can look at.
 *
 * @since 0.1.0
 * @category models
 */
export type TestLoop =
  | ToolLoop.ToolLoop
  | Approval
  | ApprovalStore.ApprovalStore
  | FakeSandbox.FakeSandbox
  | Journal.Journal
  | ModelProvider
  | ProcessRunner
  | Sandbox
  | ScriptedApproval.ScriptedApproval
  | ScriptedModel.ScriptedModel
  | ToolRegistry.ToolRegistry
  | Workspace

/**
 * What a loop is tested with. Left out: no approvals, no files, no commands, no tools, the safe policy, the limits `strict`,
 * a journal and a store of approvals in memory. `limits` overrides single numbers; `journal` can be one of another kind, or
 * one with crash points; `approval` is asked instead of the script.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<R = never, E = never> extends FakeSandbox.Options {
  readonly model: ScriptedModel.Script
  readonly modelOptions?: ScriptedModel.Options
  readonly approvals?: ReadonlyArray<ScriptedApproval.Step>
  readonly approval?: Layer.Layer<Approval, never, ApprovalStore.ApprovalStore>
  readonly policy?: Partial<ApprovalPolicy>
  readonly tools?: ReadonlyArray<Tool<R>>
  readonly limits?: Partial<Values>
  readonly loop?: ToolLoop.LoopOptions
  readonly journal?: Layer.Layer<Journal.Journal, E>
  readonly approvalStore?: Layer.Layer<ApprovalStore.ApprovalStore, E>
}

/**
 * A loop for tests. What the handlers of `tools` need beyond the sandbox becomes what the layer needs; tools that cannot
 * stand together are a defect.
 *
 * @example
 * import { ToolLoop } from "@capstan/core"
 * import { ScriptedModel, TestLoop } from "@capstan/testing"
 * import { Effect } from "effect"
 *
 * export const answer = ToolLoop.run({ session: "t", message: "hello" }).pipe(
 *   Effect.provide(TestLoop.layer({ model: [ScriptedModel.text("hi")] }))
 * )
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never, E = never>(
  options: Options<R, E>
): Layer.Layer<TestLoop, E, Exclude<R, Sandbox | Workspace | ProcessRunner | FakeSandbox.FakeSandbox>> => {
  const machine = FakeSandbox.layer(options)
  const services = Layer.mergeAll(
    ScriptedModel.layer(options.model, options.modelOptions),
    ScriptedApproval.layer(options.approvals ?? [], options.policy === undefined ? {} : { policy: options.policy }),
    Layer.orDie(ToolRegistry.layer(options.tools ?? [])),
    options.journal ?? Journal.layerMemory
  )
  const loop = Layer.provide(
    ToolLoop.layerOptions(options.loop ?? {}),
    Layer.succeed(Limits, { ...strict, ...options.limits })
  )
  const asking: Layer.Layer<ToolLoop.ToolLoop, never, Layer.Layer.Context<typeof loop> | ApprovalStore.ApprovalStore> =
    options.approval === undefined ? loop : Layer.provide(loop, options.approval)
  return asking.pipe(
    Layer.provideMerge(services),
    Layer.provideMerge(options.approvalStore ?? ApprovalStore.layerMemory),
    Layer.provideMerge(machine)
  )
}
