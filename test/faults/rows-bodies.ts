/** F34, F37, F39–F41: whole replies whose bodies are odd (FAULTS §3.3). */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { isStream, replies, typeOf } from './asks.ts';
import { canaries } from './canaries.ts';
import { brokenStream, everywhere, fine, halfDone } from './classes.ts';
import { answer, head } from './plays.ts';
import { reads, says, stalls } from './raw-upstream.ts';
import { type ExpectedOfKinds, type FaultRow, type Kind, wholeKinds } from './row.ts';

/** An image that may have been made. */
const unknownImage = (reason: string): ExpectedOfKinds => ({
  ...halfDone,
  reason,
  charge: 'pending',
  outcome: 'unknown',
});

/** What is wrong with a stream's bytes is known before anything was said. */
const undecodable: ExpectedOfKinds = {
  ...halfDone,
  reason: 'encoded',
  streams: { charge: 'nothing', outcome: 'unknown', beside: 'second' },
};

/** Says the reply of the kind, packed so. */
const packed =
  (encoding: string, pack: (text: string) => Uint8Array): FaultRow['upstream'] =>
  (kind) => [
    reads,
    says(
      answer(200, pack(replies[kind]), {
        'content-type': typeOf(kind),
        'content-encoding': encoding,
      }),
    ),
  ];

const images = (fault: string, document: object, expected: ExpectedOfKinds): FaultRow => ({
  id: 'F40',
  fault,
  ...everywhere,
  kinds: ['image'],
  upstream: () => [
    reads,
    says(answer(200, JSON.stringify(document), { 'content-type': 'application/json' })),
  ],
  circumstances: { reads: () => JSON.stringify(document) },
  expected,
});

const figures = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

/** Google's callers must handle it, so that they get it as it came. */
const native = (fault: string, reply: object, streams = {}): FaultRow => {
  const document = { ...reply, usageMetadata: figures };
  const text = (kind: Kind): string =>
    isStream(kind) ? `data: ${JSON.stringify(document)}\n\n` : JSON.stringify(document);
  return {
    id: 'F41',
    fault,
    ...everywhere,
    kinds: ['native', 'native_stream'],
    upstream: (kind) => [reads, says(answer(200, text(kind), { 'content-type': typeOf(kind) }))],
    circumstances: { reads: text },
    expected: { ...fine, streams },
  };
};

/** A stream that says nothing has not begun, whatever usage it states. */
const notBegun: ExpectedOfKinds['streams'] = {
  ...halfDone,
  ...halfDone.streams,
  reason: 'upstream_stream_truncated',
};

const bytesOf = (text: string): Buffer => Buffer.from(text);
/** 20 MiB of one letter, in some kilobytes. */
const bomb = (): Buffer => gzipSync(`{"choices":"${'x'.repeat(20 * 1024 * 1024)}"}`);

/** The rows. */
export const rowsBodies: readonly FaultRow[] = [
  {
    id: 'F34',
    fault: 'half of the body, then nothing',
    ...everywhere,
    kinds: wholeKinds,
    upstream: (kind) => {
      const text = replies[kind];
      const headers = { 'content-type': typeOf(kind), 'content-length': Buffer.byteLength(text) };
      return [reads, says(`${head(200, headers)}${text.slice(0, 40)}`), stalls];
    },
    circumstances: { passes: { afterStallIn: 'body', ms: 130_000 } },
    expected: {
      ...halfDone,
      told: 'upstream_timeout',
      reason: 'idle_timeout',
      health: 'timed_out',
    },
  },
  {
    id: 'F37',
    fault: 'more bytes than it said, and the next call is not poisoned',
    ...everywhere,
    upstream: (kind) => {
      const headers = { 'content-type': typeOf(kind) };
      return [
        reads,
        says(Buffer.concat([answer(200, replies[kind], headers), bytesOf('{"x":1}')])),
      ];
    },
    circumstances: { callsBefore: 1, connections: 2 },
    expected: fine,
  },
  { id: 'F39', fault: 'gzip', ...everywhere, upstream: packed('gzip', gzipSync), expected: fine },
  {
    id: 'F39',
    fault: 'brotli',
    ...everywhere,
    upstream: packed('br', brotliCompressSync),
    expected: fine,
  },
  {
    id: 'F39',
    fault: 'deflate',
    ...everywhere,
    upstream: packed('Deflate', deflateSync),
    expected: fine,
  },
  {
    id: 'F39',
    fault: 'no encoding, and says so',
    ...everywhere,
    upstream: packed('identity', bytesOf),
    expected: fine,
  },
  {
    id: 'F39',
    fault: 'half of a gzip',
    ...everywhere,
    upstream: packed('gzip', (text) => gzipSync(text).subarray(0, 40)),
    expected: undecodable,
  },
  {
    id: 'F39',
    fault: 'gzip whose end is wrong',
    ...everywhere,
    kinds: wholeKinds,
    upstream: packed('gzip', (text) =>
      Buffer.concat([gzipSync(text).subarray(0, -8), bytesOf('01234567')]),
    ),
    expected: undecodable,
  },
  {
    id: 'F39',
    fault: 'plain bytes that say they are gzip',
    ...everywhere,
    upstream: packed('gzip', bytesOf),
    expected: undecodable,
  },
  {
    id: 'F39',
    fault: 'gzip that says it is brotli',
    ...everywhere,
    upstream: packed('br', gzipSync),
    expected: undecodable,
  },
  {
    id: 'F39',
    fault: 'two encodings',
    ...everywhere,
    upstream: packed('gzip, gzip', (text) => gzipSync(gzipSync(text))),
    expected: undecodable,
  },
  {
    id: 'F39',
    fault: 'a thousand encodings',
    ...everywhere,
    upstream: packed(Array(1_000).fill('gzip').join(','), gzipSync),
    expected: undecodable,
  },
  {
    id: 'F39',
    fault: 'an encoding nobody knows',
    ...everywhere,
    upstream: packed('zstd-9', bytesOf),
    expected: undecodable,
  },
  {
    id: 'F39',
    fault: 'a bomb',
    ...everywhere,
    kinds: ['chat', 'native'],
    upstream: packed('gzip', bomb),
    expected: { ...brokenStream, told: 'cut', reason: 'compression_bomb' },
  },
  images('no image in the list', { created: 1, data: [] }, unknownImage('upstream_empty')),
  images('no list', { created: 1 }, unknownImage('upstream_empty')),
  images(
    'an image without data',
    { created: 1, data: [{ revised_prompt: canaries.prompt }] },
    unknownImage('upstream_image_not_base64'),
  ),
  images(
    'an image by its address',
    { created: 1, data: [{ url: 'https://files.example/1.png' }] },
    unknownImage('upstream_image_not_base64'),
  ),
  images('Base64 that is none passes', { created: 1, data: [{ b64_json: '*?' }] }, fine),
  images(
    'two images where one was requested: both are charged',
    { created: 1, data: [{ b64_json: 'aGk=' }, { b64_json: 'aGk=' }] },
    { ...fine, charge: 'observed' },
  ),
  native('no candidates', { candidates: [] }, notBegun),
  native('no candidates at all', {}, notBegun),
  native('a blocked prompt', { promptFeedback: { blockReason: 'SAFETY' } }),
  native('an answer blocked by safety', { candidates: [{ finishReason: 'SAFETY', index: 0 }] }),
  native('several parts', {
    candidates: [
      {
        content: { role: 'model', parts: [{ text: 'a' }, { text: 'b', thought: true }] },
        finishReason: 'STOP',
      },
    ],
  }),
];
