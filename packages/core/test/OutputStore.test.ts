import { OutputStore } from "@capstan/core"
import * as OutputStoreConformance from "@capstan/testing/OutputStoreConformance"

OutputStoreConformance.suite("the one in memory", OutputStore.layerMemory)
