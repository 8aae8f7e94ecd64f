/**
 * The pieces that messages and tool results are made of.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Text.
 *
 * @since 0.1.0
 * @category models
 */
export const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })

/**
 * Text.
 *
 * @since 0.1.0
 * @category models
 */
export type TextPart = typeof TextPart.Type

/**
 * An image: `data` is base64, `mediaType` for instance `image/png`.
 *
 * @since 0.1.0
 * @category models
 */
export const ImagePart = Schema.Struct({
  type: Schema.Literal("image"),
  mediaType: Schema.String,
  data: Schema.String
})

/**
 * An image.
 *
 * @since 0.1.0
 * @category models
 */
export type ImagePart = typeof ImagePart.Type

/**
 * A file: `data` is base64, `name` is shown and never used as a path.
 *
 * @since 0.1.0
 * @category models
 */
export const FilePart = Schema.Struct({
  type: Schema.Literal("file"),
  mediaType: Schema.String,
  name: Schema.String,
  data: Schema.String
})

/**
 * A file.
 *
 * @since 0.1.0
 * @category models
 */
export type FilePart = typeof FilePart.Type

/**
 * What a person or a tool can say: text, images, files.
 *
 * @since 0.1.0
 * @category models
 */
export const ContentPart = Schema.Union(TextPart, ImagePart, FilePart)

/**
 * What a person or a tool can say.
 *
 * @since 0.1.0
 * @category models
 */
export type ContentPart = typeof ContentPart.Type

/**
 * A text part.
 *
 * @since 0.1.0
 * @category constructors
 */
export const text = (value: string): TextPart => ({ type: "text", text: value })

/**
 * The parts with each text changed.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mapText = (
  parts: ReadonlyArray<ContentPart>,
  change: (text: string) => string
): ReadonlyArray<ContentPart> => parts.map((part) => part.type === "text" ? text(change(part.text)) : part)

/**
 * The text of some parts, joined by line ends; images and files are named in brackets.
 *
 * @since 0.1.0
 * @category combinators
 */
export const toText = (parts: ReadonlyArray<ContentPart>): string =>
  parts.map((part) => {
    switch (part.type) {
      case "text":
        return part.text
      case "image":
        return `[image ${part.mediaType}]`
      case "file":
        return `[file ${part.name}]`
    }
  }).join("\n")
