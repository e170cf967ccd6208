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
  ['a file behind white space', ' \n https://x.example/a.pdf'],
  ['a data URL of an unknown kind', 'data:application/x-unknown;base64,AAAA'],
];

const types = ['document_url', 'file_url', 'audio_url', 'video', 'media', 'input_file', 'hologram'];
const wrapped: readonly ((thing: JsonValue) => JsonValue)[] = [
  (thing) => thing,
  (thing) => [thing],
  (thing) => ({ url: thing }),
  (thing) => [{ source: { type: 'url', uri: thing } }],
  (thing) => ({ a: { b: [{ c: thing }] } }),
];

/** The reference in parts of every type, under every name and at every depth. */
export function partShapes(thing: string): readonly JsonObject[] {
  const general = types.flatMap((type) =>
    wrapped.flatMap((wrap): JsonObject[] => [
      { type, [type]: wrap(thing) },
      { [type]: wrap(thing) },
      { file: wrap(thing), filename: 'a.pdf', type },
    ]),
  );
  return [
    ...general,
    { type: 'input_audio', input_audio: thing },
    { type: 'input_audio', input_audio: { data: thing, format: 'mp3' } },
    { type: 'file', file: { filename: 'a.bin', fileData: thing } },
    { type: 'file', file: { file_url: thing } },
    { type: 'image_url', document_url: thing },
    { type: 'image_url', image_url: { url: 'https://x.example/a.png' }, document_url: thing },
    { type: 'document', source: { type: 'url', url: thing } },
  ];
}
