// suite: search host
/**
 * 2,048 vectors of 3,072 numbers, translated: they are held once, in a compact form, and written
 * as the caller reads.
 */
import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { requestOf } from '../../support/gateway-in-process.ts';
import { answering, embedGateway, openaiCall } from './embed-gateway.ts';

const inputs = 2_048;
const width = 3_072;
const batch = 128;
const mebibyte = 1_048_576;
const chunkBytes = 64 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** The memory in use, on and off the heap. Newer V8 frees buffers only after a collection. */
function liveBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const numbers = Array.from(
  { length: width },
  (_, index) => ((index * 7_919) % 100_003) / 1_000_030 - 0.05,
).map((number) => number.toPrecision(9));
/** As Google writes it, with its white space. */
const reply = Buffer.from(
  `{\n  "embeddings": [\n${Array.from(
    { length: batch },
    () => `    {\n      "values": [\n        ${numbers.join(',\n        ')}\n      ]\n    }`,
  ).join(',\n')}\n  ],\n  "usageMetadata": {"promptTokenCount": ${batch}}\n}`,
);
const chunks = Array.from({ length: Math.ceil(reply.length / chunkBytes) }, (_, index) =>
  reply.subarray(index * chunkBytes, (index + 1) * chunkBytes),
);
const list = `[${numbers.join(',')}]`;
const base64 = Buffer.from(Float32Array.from(numbers, Number).buffer).toString('base64');

describe.each([
  ['float', list],
  ['base64', `"${base64}"`],
])('a call for 2,048 vectors as %s', (format, vector) => {
  it('takes at most 64 MiB more than before', { timeout: 120_000 }, async () => {
    let peak = 0;
    const upstream = answering((_request, index) => {
      if (index % 5 === 0) peak = Math.max(peak, liveBytes());
      return { chunks };
    });
    const { gateway } = embedGateway({
      dialect: 'gemini',
      upstream,
      upstreamModel: 'gemini-embedding-2',
      capabilities: { embeddingBatch: batch },
    });
    const texts = Array.from({ length: inputs }, (_, index) => `text ${index}`);
    const hash = createHash('sha256');
    let writes = 0;
    const caller = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        hash.update(chunk);
        writes += 1;
        if (writes % 400 === 1) peak = Math.max(peak, liveBytes());
        // Sent later, as a socket does.
        setImmediate(done);
      },
    });
    const before = liveBytes();

    const { body } = await gateway.handle(
      requestOf(openaiCall({ input: texts, encoding_format: format }), []),
    );
    if (!('sendTo' in body)) throw new Error('The reply was made before it was sent.');
    body.sendTo(caller);
    await new Promise((resolve) => caller.once('close', resolve));

    const expected = createHash('sha256');
    expected.update('{"object":"list","data":[');
    for (let index = 0; index < inputs; index += 1) {
      expected.update(`${index === 0 ? '' : ','}{"object":"embedding","index":${index},`);
      expected.update(`"embedding":${vector}}`);
    }
    expected.update('],"model":"embedder","usage":{"prompt_tokens":2048,"total_tokens":2048}}');
    expect(hash.digest('hex')).toBe(expected.digest('hex'));
    expect((peak - before) / mebibyte).toBeLessThan(64);
    expect(upstream.sent).toHaveLength(inputs / batch);
  });
});
