/** Pictures as Google's models draw them: a part of the answer, in Base64. */
import { items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { bigBase64 } from './big-base64.ts';
import { gradientPng } from './png.ts';
import { geminiTokens } from './recordings.ts';
import type { Script } from './scripts.ts';

/** The width and height of each aspect ratio in the class 1K. */
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

/** Whether the request wants a picture. */
export function wantsImage(body: JsonValue | undefined): boolean {
  const wanted = member(member(body, 'generationConfig'), 'responseModalities');
  return items(wanted).some((modality) => String(modality).toUpperCase() === 'IMAGE');
}

/** The part that holds the picture: as its ratio asks, or 64 × 64 where nothing is asked. */
export function imagePart(body: JsonValue | undefined): JsonObject {
  const ratio = member(member(member(body, 'generationConfig'), 'imageConfig'), 'aspectRatio');
  const [width, height] = sizes[String(ratio)] ?? [64, 64];
  return {
    inlineData: { mimeType: 'image/png', data: gradientPng(width, height).toString('base64') },
  };
}

/** A whole answer with one picture of so many bytes of Base64, written as the caller reads it. */
export function bigImageScript(bytes: number, head: JsonObject): Script {
  return { headers: { 'content-type': 'application/json' }, chunks: bigReply(bytes, head) };
}

function* bigReply(bytes: number, head: JsonObject): Generator<string | Uint8Array> {
  const [prompt, made] = geminiTokens.image;
  const usage = {
    promptTokenCount: prompt,
    candidatesTokenCount: made,
    totalTokenCount: prompt + made,
  };
  yield '{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"';
  yield* bigBase64(bytes);
  yield '"}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":';
  yield `${JSON.stringify(usage)},${JSON.stringify(head).slice(1)}`;
}
