/** Images as Google's models return them: a part of the reply, in Base64. */
import { items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { bigBase64 } from './big-base64.ts';
import { gradientPng } from './png.ts';
import { geminiTokens } from './recordings.ts';
import type { Script } from './scripts.ts';

/** The width and height of each aspect ratio at the size 1K. */
const sizes: Readonly<Record<string, readonly [number, number]>> = {
  '1:1': [1024, 1024],
  '2:3': [832, 1248],
  '3:2': [1248, 832],
  '3:4': [864, 1184],
  '4:3': [1184, 864],
  '4:5': [896, 1152],
  '5:4': [1152, 896],
  '9:16': [768, 1344],
  '16:9': [1344, 768],
  '21:9': [1536, 672],
};

/** Whether the request asks for an image. */
export function wantsImage(body: JsonValue | undefined): boolean {
  const modalities = member(member(body, 'generationConfig'), 'responseModalities');
  return items(modalities).some((modality) => String(modality).toUpperCase() === 'IMAGE');
}

/** The part with the image, in the requested aspect ratio, or 64 × 64 where there is none. */
export function imagePart(body: JsonValue | undefined): JsonObject {
  const ratio = member(member(member(body, 'generationConfig'), 'imageConfig'), 'aspectRatio');
  const [width, height] = sizes[String(ratio)] ?? [64, 64];
  return {
    inlineData: { mimeType: 'image/png', data: gradientPng(width, height).toString('base64') },
  };
}

/** A whole reply with one image of this many bytes of Base64, generated while it is read. */
export function bigImageScript(bytes: number, head: JsonObject): Script {
  return { headers: { 'content-type': 'application/json' }, chunks: bigReply(bytes, head) };
}

function* bigReply(bytes: number, head: JsonObject): Generator<string | Uint8Array> {
  const [prompt, generated] = geminiTokens.image;
  const usage = {
    promptTokenCount: prompt,
    candidatesTokenCount: generated,
    totalTokenCount: prompt + generated,
  };
  yield '{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"';
  yield* bigBase64(bytes);
  yield '"}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":';
  yield `${JSON.stringify(usage)},${JSON.stringify(head).slice(1)}`;
}
