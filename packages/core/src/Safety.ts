/**
 * What a tool does to the world.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * What a tool does to the world: `read-only` changes nothing, `side-effect` changes files or services, `privileged` can do
 * whatever its user can.
 *
 * @since 0.1.0
 * @category models
 */
export const Safety = Schema.Literal("read-only", "side-effect", "privileged")

/**
 * What a tool does to the world.
 *
 * @since 0.1.0
 * @category models
 */
export type Safety = typeof Safety.Type
