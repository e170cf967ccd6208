/** Images of any size that are generated while they are sent: a valid one followed by zeros. */
import { type JsonValue, member } from '../../src/json.ts';
import type { RecordedCall } from '../../src/testing/providers/exchange.ts';
import { wantsImage } from '../../src/testing/providers/gemini-content.ts';
import { imageCount, usage } from '../../src/testing/providers/openai.ts';
import { geminiTokens } from '../../src/testing/providers/recordings.ts';
import { gradientPng } from '../../src/testing/providers/samples.ts';
import type { Piece, Script } from '../../src/testing/providers/scripts.ts';

const mebibyte = 1024 * 1024;

/**
 * The reply of OpenAI or Google for a model such as `…image-48mb`, with 48 MiB of Base64 in each
 * image; undefined for other models.
 */
export function bigImages(call: RecordedCall): Script | undefined {
  const body = call.json();
  if (call.path === '/v1/images/generations') {
    const bytes = bigImageBytes(String(member(body, 'model')));
    return bytes === undefined ? undefined : streamed(openaiReply(bytes, body));
  }
  const model = /^\/v1beta\/models\/(.+):/.exec(call.path)?.[1] ?? '';
  const bytes = bigImageBytes(model);
  return bytes === undefined || !wantsImage(body) ? undefined : streamed(googleReply(bytes, model));
}

function bigImageBytes(model: string): number | undefined {
  const megabytes = /\bimage-(\d{1,4})mb$/.exec(model)?.[1];
  return megabytes === undefined ? undefined : Number(megabytes) * mebibyte;
}

function streamed(chunks: Iterable<Piece>): Script {
  return { headers: { 'content-type': 'application/json' }, chunks };
}

function* openaiReply(bytes: number, body: JsonValue | undefined): Generator<string | Uint8Array> {
  yield '{"created":1763683200,"data":[';
  for (let image = 0; image < imageCount(body); image++) {
    yield `${image === 0 ? '' : ','}{"b64_json":"`;
    yield* bigBase64(bytes);
    yield '"}';
  }
  yield `],"usage":${JSON.stringify(usage(body))}}`;
}

function* googleReply(bytes: number, modelVersion: string): Generator<string | Uint8Array> {
  const [prompt, generated] = geminiTokens.image;
  const usageMetadata = {
    promptTokenCount: prompt,
    candidatesTokenCount: generated,
    totalTokenCount: prompt + generated,
  };
  yield '{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"';
  yield* bigBase64(bytes);
  yield '"}}],"role":"model"},"finishReason":"STOP","index":0}],';
  yield JSON.stringify({ usageMetadata, modelVersion, responseId: 'resp-big' }).slice(1);
}

/** Base64 of this length, in pieces. Decoders stop at the end of the image at its beginning. */
function* bigBase64(bytes: number): Generator<string | Uint8Array> {
  const image = gradientPng(64, 64);
  const padded = Buffer.concat([image, Buffer.alloc((3 - (image.length % 3)) % 3)]);
  const start = padded.toString('base64').slice(0, bytes);
  const zeros = Buffer.alloc(65_536, 'A');

  yield start;
  for (let remaining = bytes - start.length; remaining > 0; remaining -= zeros.length) {
    yield zeros.subarray(0, remaining);
  }
}
