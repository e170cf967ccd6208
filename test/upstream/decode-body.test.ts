/** The one layer of compression that an upstream puts on unasked, taken off in any chunks (T34). */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ByteSink, UpstreamBody } from '../../src/ports/upstream-client.ts';
import { decoded } from '../../src/upstream/decode-body.ts';
import { failure, read } from './exchange.ts';

/** Hardly compressible, and alike in every run. */
const plain = Buffer.from(Array.from({ length: 60_000 }, (_, index) => (index * index * 31) >>> 7));

const encodings: readonly (readonly [string, Buffer])[] = [
  ['gzip', gzipSync(plain)],
  ['x-gzip', gzipSync(plain)],
  ['GZIP', gzipSync(plain)],
  ['deflate', deflateSync(plain)],
  ['br', brotliCompressSync(plain)],
];

/** A body that arrives in chunks of this size, all in one turn, and counts what was asked of it. */
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

const as = (encoding: string): Record<string, string> => ({ 'content-encoding': encoding });

describe.each(encodings)('%s', (encoding, bytes) => {
  it.each([1, 7, 1_000, 1_000_000])('in chunks of %i bytes', async (size) => {
    const body = decoded(arriving(bytes, size), as(encoding));

    expect((await read(body)).equals(plain)).toBe(true);
  });

  it('cut short is an error, never a short reply', async () => {
    const body = decoded(arriving(bytes.subarray(0, -20), 100), as(encoding));

    expect(await read(body).catch(failure)).toEqual({
      stage: 'body',
      reason: 'encoded',
      timedOut: false,
    });
  });
});

it.each(['', 'identity', ' Identity '])('%o is left as it is', (encoding) => {
  const body = arriving(plain, 100);

  expect(decoded(body, as(encoding))).toBe(body);
});

it.each(['zstd', 'gzip, gzip', 'constructor'])('%s is refused', (encoding) => {
  expect(() => decoded(arriving(plain, 100), as(encoding))).toThrow(
    expect.objectContaining({ stage: 'body', reason: 'encoded' }),
  );
});

it('a bomb is given up long before it is whole', async () => {
  const upstream = arriving(gzipSync(Buffer.alloc(64 * 1024 * 1024)), 1_000);

  const outcome = await read(decoded(upstream, as('gzip'))).catch(failure);

  expect(outcome).toMatchObject({ stage: 'body', reason: 'compression_bomb' });
  expect(upstream.isAborted).toBe(true);
});
