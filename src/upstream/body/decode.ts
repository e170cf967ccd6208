/**
 * Removes the content encoding that some upstreams apply although the gateway asks for none.
 * Streams, and treats a compression bomb or an invalid encoding as a protocol error.
 */
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { UpstreamError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';
import type { ByteSink, UpstreamBody } from '../../ports/upstream-client.ts';

/** Output up to this size is exempt from the ratio check: small replies may compress well. */
const uncheckedBytes = 1024 * 1024;
const maxRatio = 50;

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** @throws UpstreamError `encoded` unless the encoding is one of gzip, deflate and br */
export function decodeBody(body: UpstreamBody, headers: HeaderMap): UpstreamBody {
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return body;
  const known = Object.entries(decoders).find(([name]) => name === encoding);
  if (known === undefined) throw new UpstreamError('body', 'encoded');
  return decompress(body, known[1]);
}

function decompress(body: UpstreamBody, createDecoder: (typeof decoders)['gzip']): UpstreamBody {
  const decoder = createDecoder();
  let sink: ByteSink | undefined;
  let compressedBytes = 0;
  let decodedBytes = 0;
  let isOver = false;

  const fail = (error: Error): void => {
    if (isOver) return;
    isOver = true;
    decoder.destroy();
    sink?.fail(error);
  };

  decoder.on('data', (chunk: Buffer) => {
    decodedBytes += chunk.length;
    if (decodedBytes > uncheckedBytes && decodedBytes > compressedBytes * maxRatio) {
      body.abort();
      fail(new UpstreamError('body', 'compression_bomb'));
    } else if (!isOver) sink?.write(chunk);
  });
  decoder.on('drain', () => body.resume());
  decoder.on('end', () => {
    if (!isOver) sink?.end();
    isOver = true;
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
          compressedBytes += chunk.length;
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
      isOver = true;
      decoder.destroy();
      body.abort();
    },
  };
}
