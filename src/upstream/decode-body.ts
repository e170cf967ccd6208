/**
 * Takes off the one layer of compression that some upstreams put on although nobody asked
 * (SECURITY T34). It streams, within a ratio, and anything odd is a protocol error.
 */
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { UpstreamError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import type { ByteSink, UpstreamBody } from '../ports/upstream-client.ts';

/** Below this a small reply may compress as well as it likes. */
const freeBytes = 1024 * 1024;
const largestRatio = 50;

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * The body without its content encoding.
 *
 * @throws UpstreamError `encoded` for an encoding that is none of gzip, deflate and br, or several
 */
export function decoded(body: UpstreamBody, headers: HeaderMap): UpstreamBody {
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return body;
  const known = Object.entries(decoders).find(([name]) => name === encoding);
  if (known === undefined) throw new UpstreamError('body', 'encoded');
  return inflated(body, known[1]);
}

function inflated(body: UpstreamBody, createDecoder: (typeof decoders)['gzip']): UpstreamBody {
  const decoder = createDecoder();
  let sink: ByteSink | undefined;
  let taken = 0;
  let given = 0;
  let over = false;

  const fail = (error: Error): void => {
    if (over) return;
    over = true;
    decoder.destroy();
    sink?.fail(error);
  };

  decoder.on('data', (chunk: Buffer) => {
    given += chunk.length;
    if (given > freeBytes && given > taken * largestRatio) {
      body.abort();
      fail(new UpstreamError('body', 'compression_bomb'));
    } else if (!over) sink?.write(chunk);
  });
  decoder.on('drain', () => body.resume());
  decoder.on('end', () => {
    if (!over) sink?.end();
    over = true;
  });
  decoder.on('error', (cause) => {
    body.abort();
    fail(new UpstreamError('body', 'encoded', { cause }));
  });

  return {
    takeWhole: () => undefined,
    start: (target) => {
      sink = target;
      body.start({
        write: (chunk) => {
          taken += chunk.length;
          if (!decoder.write(chunk)) body.pause();
        },
        end: () => {
          decoder.end();
        },
        fail,
      });
    },
    pause: () => {
      decoder.pause();
    },
    resume: () => {
      decoder.resume();
    },
    abort: () => {
      over = true;
      decoder.destroy();
      body.abort();
    },
  };
}
