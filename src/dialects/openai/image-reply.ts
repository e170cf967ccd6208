/**
 * Writes the reply of the images protocol in pieces, so that images are never buffered: `created`,
 * `data`, then the usage, which is known last.
 */
import { jsonText } from '../../canonical/raw-json.ts';
import type { Usage } from '../../money.ts';

/** Writes one document. The Base64 data goes between the pieces that begin and end an image. */
export interface ImageReplyWriter {
  /** Begins an image, and the document with the first one. */
  imageBegins(): Uint8Array;
  imageEnds(): Uint8Array;
  /** Ends a document that has at least one image; usage that was not reported is left out. */
  end(usage: Usage | undefined): Uint8Array;
}

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
    // OpenAI's clients read this member without checking it. Requests of this protocol consist of
    // text only.
    input_tokens_details: { text_tokens: inputTokens, image_tokens: 0 },
  };
}
