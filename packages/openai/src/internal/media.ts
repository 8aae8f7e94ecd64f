/** Images and files on OpenAI's wires. */
import type { FilePart, ImagePart } from "@capstan/core/Content"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"

export const dataUrl = (part: ImagePart | FilePart): string => `data:${part.mediaType};base64,${part.data}`

/** What a wire without this kind of file gets: the text of a text file, or a word that there was one. */
export const textOfFile = (part: FilePart): string =>
  part.mediaType.startsWith("text/") || part.mediaType === "application/json"
    ? `${part.name}:\n${Either.getOrElse(Encoding.decodeBase64String(part.data), () => "(unreadable)")}`
    : `[file ${part.name} ${part.mediaType}: this kind of file cannot be shown]`
