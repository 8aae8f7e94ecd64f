import * as ApprovalStore from "@capstan/core/ApprovalStore"
import * as ApprovalStoreConformance from "@capstan/testing/ApprovalStoreConformance"

ApprovalStoreConformance.suite({ name: "the memory store", layer: ApprovalStore.layerMemory })
