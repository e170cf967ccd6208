/**
 * Writes the document of the images protocol in pieces, for images that are never held: created,
 * data, then the figures, which are known last (WIRE §3).
 */
import { jsonText } from '../../canonical/raw-json.ts';
import type { Usage } from '../../money.ts';

/** One document. The Base64 itself goes between the pieces that begin and end an image. */
export interface ImageReplyWriter {
  /** Opens the document with the first image. */
  imageBegins(): Uint8Array;
  imageEnds(): Uint8Array;
  /** Closes a document with at least one image; figures nobody gave are left out. */
  end(usage: Usage | undefined): Uint8Array;
}

/** Begins a document; nothing of it is there before its first image. */
export function imageReply(createdSeconds: number): ImageReplyWriter {
  let before = `{"created":${createdSeconds},"data":[`;

  return {
    imageBegins: () => {
      const opening = Buffer.from(`${before}{"b64_json":"`);
      before = ',';
      return opening;
    },
    imageEnds: () => Buffer.from('"}'),
    end: (usage) =>
      Buffer.from(usage === undefined ? ']}' : `],"usage":${jsonText(usageObject(usage))}}`),
  };
}

function usageObject({ inputTokens, outputTokens }: Usage) {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    // OpenAI's clients read it unasked; what a caller of this protocol sends is only text.
    input_tokens_details: { text_tokens: inputTokens, image_tokens: 0 },
  };
}
