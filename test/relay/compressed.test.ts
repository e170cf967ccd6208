// suite: slow host
/**
 * A response that is compressed although the gateway requested none is decompressed if it has one
 * layer; anything else is a 502.
 */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  native,
  wholeChat,
} from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { fixture } from '../support/recorded/fixtures.ts';
import { brokenStream } from './streams.ts';

let upstream: FakeUpstream;
const client = undiciClient();

beforeAll(async () => {
  upstream = await startStrictUpstream();
});

afterAll(async () => {
  await client.close();
  await upstream.close();
});

const encodings = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
  [' GZIP ', gzipSync],
] as const;
const recordings: readonly (readonly [string, CallerRequest, string])[] = [
  ['openai-chat/tools.1', chat(wholeChat), 'application/json'],
  ['openai-chat/stream-basic.1', chat(), 'text/event-stream'],
  ['gemini/stream-thinking.1', native(), 'text/event-stream'],
  ['gemini/image-out.1', native('json'), 'application/json'],
];

describe('a compressed reply', () => {
  it.each(recordings)('%s is decompressed, for every encoding', async (name, request, type) => {
    const { response } = fixture(name);

    for (const [encoding, compress] of encodings) {
      const reply = await answered(request, type, encoding, compress(response));

      expect(reply.bytes.equals(response)).toBe(true);
      expect(reply.headers['content-encoding']).toBe(undefined);
    }
  });

  it('is decoded while it arrives', async () => {
    const { response } = fixture('openai-chat/stream-basic.1');
    const packed = gzipSync(response);

    const reply = await answered(chat(), 'text/event-stream', 'gzip', packed, 100);

    expect(reply.bytes.equals(response)).toBe(true);
  });
});

describe('a 502', () => {
  const small = gzipSync('{"choices":[]}');
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));

  it.each([
    ['two encodings', 'gzip, gzip', gzipSync(small)],
    ['a thousand encodings', Array(1_000).fill('gzip').join(','), small],
    ['an encoding nobody knows', 'zstd', small],
    ['the wrong label', 'br', small],
    ['half of what was compressed', 'gzip', small.subarray(0, -9)],
    ['a bomb', 'gzip', bomb],
  ])('is the response to %s', async (_, encoding, body) => {
    const reply = await answered(chat(wholeChat), 'application/json', encoding, body);

    expect(reply.status).toBe(502);
  });

  it('becomes an error event if the stream had begun', async () => {
    const begun = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
    const packed = gzipSync(Buffer.concat([Buffer.from(begun), Buffer.alloc(64 * 1024 * 1024)]));

    const reply = await answered(chat(), 'text/event-stream', 'gzip', packed);

    expect(brokenStream('chat', reply)?.before).toBe(begun);
  });
});

function answered(
  request: CallerRequest,
  type: string,
  encoding: string,
  body: Uint8Array,
  pieceBytes: number = body.length,
): Promise<CallerReply> {
  const count = Math.ceil(body.length / pieceBytes);
  upstream.enqueue({
    headers: { 'content-type': type, 'content-encoding': encoding },
    chunks: Array.from({ length: count }, (_, at) =>
      body.subarray(at * pieceBytes, (at + 1) * pieceBytes),
    ),
  });
  return anyModelGateway({ upstream: client, channel: { baseUrl: upstream.openaiBaseUrl } }).call(
    request,
  );
}
