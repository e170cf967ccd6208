/** F34, F37, F39–F41: whole replies with unusual bodies. */

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { canaries } from '../canaries.ts';
import { brokenStream, everywhere, fine, halfDone } from '../classes.ts';
import { isStream, type Kind, replyOf, typeOf, wholeKinds } from '../kinds.ts';
import { reads, sends, stalls } from '../raw-upstream.ts';
import { answer, head } from '../responses.ts';
import type { ExpectedOfKinds, FaultRow } from './row.ts';

/** An image that may have been made. */
const unknownImage = (reason: string): ExpectedOfKinds => ({
  ...halfDone,
  reason,
  charge: 'pending',
  outcome: 'unknown',
});

/** A stream whose bytes are wrong fails before its first content. */
const undecodable: ExpectedOfKinds = {
  ...halfDone,
  reason: 'encoded',
  streams: { charge: 'nothing', outcome: 'unknown', withSecond: 'second' },
};

/** Sends the reply of the kind with this encoding. */
const packed =
  (encoding: string, pack: (text: string) => Uint8Array): FaultRow['upstream'] =>
  (kind) => [
    reads,
    sends(
      answer(200, pack(replyOf(kind)), {
        'content-type': typeOf(kind),
        'content-encoding': encoding,
      }),
    ),
  ];

const images = (fault: string, document: object, expected: ExpectedOfKinds): FaultRow => ({
  id: 'F40',
  fault,
  ...everywhere,
  kinds: ['images'],
  upstream: () => [
    reads,
    sends(answer(200, JSON.stringify(document), { 'content-type': 'application/json' })),
  ],
  circumstances: { expectedBody: () => JSON.stringify(document) },
  expected,
});

const figures = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

/** Callers of Google's API must handle it, so they get it unchanged. */
const native = (fault: string, reply: object, streams = {}): FaultRow => {
  const document = { ...reply, usageMetadata: figures };
  const text = (kind: Kind): string =>
    isStream(kind) ? `data: ${JSON.stringify(document)}\n\n` : JSON.stringify(document);
  return {
    id: 'F41',
    fault,
    ...everywhere,
    kinds: ['native', 'native_stream'],
    upstream: (kind) => [reads, sends(answer(200, text(kind), { 'content-type': typeOf(kind) }))],
    circumstances: { expectedBody: text },
    expected: { ...fine, streams },
  };
};

/** A stream without content has not begun, whatever usage it reports. */
const notBegun: ExpectedOfKinds['streams'] = {
  ...halfDone,
  ...halfDone.streams,
  reason: 'upstream_stream_truncated',
};

const bytesOf = (text: string): Buffer => Buffer.from(text);
/** 20 MiB of one letter, compressed to some kilobytes. */
const bomb = (): Buffer => gzipSync(`{"choices":"${'x'.repeat(20 * 1024 * 1024)}"}`);

/** The rows. */
export const rowsBodies: readonly FaultRow[] = [
  {
    id: 'F34',
    fault: 'half of the body, then nothing',
    ...everywhere,
    kinds: wholeKinds,
    upstream: (kind) => {
      const text = replyOf(kind);
      const headers = { 'content-type': typeOf(kind), 'content-length': Buffer.byteLength(text) };
      return [reads, sends(`${head(200, headers)}${text.slice(0, 40)}`), stalls];
    },
    circumstances: { advances: { afterStallIn: 'body', ms: 130_000 } },
    expected: {
      ...halfDone,
      callerGets: 'upstream_timeout',
      // Time is up, so that no other channel is tried.
      embeddings: {},
      reason: 'idle_timeout',
      health: 'timed_out',
    },
  },
  {
    id: 'F37',
    fault: 'more bytes than its length, and the next call is not affected',
    ...everywhere,
    upstream: (kind) => {
      const headers = { 'content-type': typeOf(kind) };
      return [
        reads,
        sends(Buffer.concat([answer(200, replyOf(kind), headers), bytesOf('{"x":1}')])),
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
    fault: 'the encoding `identity`',
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
    fault: 'plain bytes labelled as gzip',
    ...everywhere,
    upstream: packed('gzip', bytesOf),
    expected: undecodable,
  },
  {
    id: 'F39',
    fault: 'gzip labelled as brotli',
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
    fault: 'an unknown encoding',
    ...everywhere,
    upstream: packed('zstd-9', bytesOf),
    expected: undecodable,
  },
  {
    id: 'F39',
    fault: 'a compression bomb',
    ...everywhere,
    kinds: wholeKinds.filter((kind) => kind !== 'images'),
    upstream: packed('gzip', bomb),
    expected: { ...brokenStream, callerGets: 'cut', reason: 'compression_bomb' },
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
