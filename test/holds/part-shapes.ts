/**
 * Shapes of content parts that are not text, as servers read them, and spellings of the members
 * that reference content.
 */
import type { JsonObject, JsonValue } from '../../src/json.ts';

/** References to content that is not an image. */
export const namedThings: readonly (readonly [what: string, thing: string])[] = [
  ['a document', 'https://x.example/big.pdf'],
  ['a video', 'HTTP://x.example/v.mp4'],
  ['a stored file', 'gs://bucket/a'],
  ['an object of a bucket', 's3://bucket/a'],
  ['a file after white space', ' \n https://x.example/a.pdf'],
  ['a data URL of an unknown kind', 'data:application/x-unknown;base64,AAAA'],
];

const types = ['document_url', 'file_url', 'audio_url', 'video', 'media', 'input_file', 'hologram'];
const wrapped: readonly ((value: JsonValue) => JsonValue)[] = [
  (value) => value,
  (value) => [value],
  (value) => ({ url: value }),
  (value) => [{ source: { type: 'url', uri: value } }],
  (value) => ({ a: { b: [{ c: value }] } }),
];

/** The reference in parts of every type, under every name and at every depth. */
export function partShapes(text: string): readonly JsonObject[] {
  const general = types.flatMap((type) =>
    wrapped.flatMap((wrap): JsonObject[] => [
      { type, [type]: wrap(text) },
      { [type]: wrap(text) },
      { file: wrap(text), filename: 'a.pdf', type },
    ]),
  );
  return [
    ...general,
    { type: 'input_audio', input_audio: text },
    { type: 'input_audio', input_audio: { data: text, format: 'mp3' } },
    { type: 'file', file: { filename: 'a.bin', fileData: text } },
    { type: 'file', file: { file_url: text } },
    { type: 'image_url', document_url: text },
    { type: 'image_url', image_url: { url: 'https://x.example/a.png' }, document_url: text },
    { type: 'document', source: { type: 'url', url: text } },
  ];
}
