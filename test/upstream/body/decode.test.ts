// suite: slow host
/** Content encodings that an upstream applies unasked, decoded from chunks of any size. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ByteSink, UpstreamBody } from '../../../src/ports/upstream-client.ts';
import { decodeBody } from '../../../src/upstream/undici-client.ts';
import { failure, read } from '../send-request.ts';

/** Hardly compressible, and the same in every run. */
const plain = Buffer.from(Array.from({ length: 60_000 }, (_, index) => (index * index * 31) >>> 7));

const encodings: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
];

/**
 * A body that arrives in chunks of this size, all in one turn, and records whether it was aborted.
 */
function arriving(bytes: Buffer, size: number): UpstreamBody & { readonly isAborted: boolean } {
  let isAborted = false;
  return {
    get isAborted() {
      return isAborted;
    },
    takeWhole: () => undefined,
    start: (sink: ByteSink) => {
      for (let at = 0; at < bytes.length; at += size) sink.write(bytes.subarray(at, at + size));
      sink.end();
    },
    pause: () => {},
    resume: () => {},
    abort: () => {
      isAborted = true;
    },
  };
}

const contentEncoding = (encoding: string): Record<string, string> => ({
  'content-encoding': encoding,
});

describe.each(encodings)('%s', (encoding, compress) => {
  it.each([1, 7, 1_000, 1_000_000])('in chunks of %i bytes', async (size) => {
    // Each chunk is a task of zlib.
    const sent = plain.subarray(0, size * 4_000);
    const body = decodeBody(arriving(compress(sent), size), contentEncoding(encoding));

    expect((await read(body)).equals(sent)).toBe(true);
  });

  it('is an error when cut short, never a short reply', async () => {
    const cut = compress(plain).subarray(0, -20);
    const body = decodeBody(arriving(cut, 100), contentEncoding(encoding));

    expect(await read(body).catch(failure)).toEqual({
      stage: 'body',
      reason: 'encoded',
      timedOut: false,
    });
  });
});

it.each(['x-gzip', 'GZIP'])('%s is gzip', async (encoding) => {
  const body = decodeBody(arriving(gzipSync(plain), 1_000), contentEncoding(encoding));

  expect((await read(body)).equals(plain)).toBe(true);
});

it.each(['', 'identity', ' Identity '])('%o leaves the body unchanged', (encoding) => {
  const body = arriving(plain, 100);

  expect(decodeBody(body, contentEncoding(encoding))).toBe(body);
});

it.each(['zstd', 'gzip, gzip', 'constructor'])('%s is refused', (encoding) => {
  expect(() => decodeBody(arriving(plain, 100), contentEncoding(encoding))).toThrow(
    expect.objectContaining({ stage: 'body', reason: 'encoded' }),
  );
});

it('a compression bomb is aborted long before it is complete', async () => {
  const upstream = arriving(gzipSync(Buffer.alloc(64 * 1024 * 1024)), 1_000);

  const outcome = await read(decodeBody(upstream, contentEncoding('gzip'))).catch(failure);

  expect(outcome).toMatchObject({ stage: 'body', reason: 'compression_bomb' });
  expect(upstream.isAborted).toBe(true);
});
