// suite: slow
/** Upstreams whose replies give a text another one's vector, or none: 502, and another channel. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { untouched } from '../../support/gateway-in-process.ts';
import type { ScriptedReply } from '../../support/scripted-upstream.ts';
import { answering, base64Of, embedGateway, nativeCall, openaiCall } from './embed-gateway.ts';

type Row = Readonly<Record<string, unknown>>;

const row = (index: number, values: readonly number[] = [index, 1]): Row => ({
  object: 'embedding',
  index,
  embedding: base64Of(values),
});
const whole = (rows: readonly unknown[]): string =>
  JSON.stringify({ object: 'list', data: rows, usage: { prompt_tokens: 6, total_tokens: 6 } });
const batch = nativeCall('batchEmbedContents', {
  requests: ['a', 'b', 'c'].map((text) => ({ content: { parts: [{ text }] } })),
});

async function replyTo(document: string, chunkBytes = 1_000) {
  const bytes = Buffer.from(document);
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, index) =>
    bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  );
  const upstream = answering(({ origin }) =>
    origin.includes('c0') ? { chunks } : { chunks: [whole([row(0), row(1), row(2)])] },
  );
  const gateway = embedGateway({ dialect: 'openai', upstream, channels: 2 });
  const reply = await gateway.call(batch);
  return { ...reply, sent: upstream.sent.length, gateway };
}

const firsts = (text: string): readonly number[] =>
  JSON.parse(text).embeddings.map(({ values }: { values: readonly number[] }) => values[0]);

describe('the order of vectors', () => {
  it('is that of `index`, however they are shuffled and cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray([0, 1, 2], { minLength: 3 }),
        fc.integer({ min: 1, max: 60 }),
        async (order, chunkBytes) => {
          const { text, sent } = await replyTo(whole(order.map((index) => row(index))), chunkBytes);

          expect(firsts(text)).toEqual([0, 1, 2]);
          expect(sent).toBe(1);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('is that of the list where no vector has an index', async () => {
    const rows = [2, 0, 1].map((value) => ({ embedding: base64Of([value]) }));

    const { text } = await replyTo(whole(rows));

    expect(firsts(text)).toEqual([2, 0, 1]);
  });

  it('does not depend on which of the two forms each vector has', async () => {
    const rows = [{ ...row(1), embedding: [1, 0.5] }, row(0), row(2)];

    const { text } = await replyTo(whole(rows));

    expect(firsts(text)).toEqual([0, 1, 2]);
  });
});

const good = [row(0), row(1), row(2)];
const unusable: readonly (readonly [string, string])[] = [
  ['an index twice', whole([row(0), row(1), row(1)])],
  ['an index too many', whole([row(0), row(1), row(3)])],
  ['an index that is no number', whole([row(0), row(1), { ...row(2), index: '2' }])],
  ['a missing index', whole([row(0), row(1), { embedding: base64Of([2, 1]) }])],
  ['one vector less', whole([row(0), row(1)])],
  ['one vector more', whole([...good, row(3)])],
  ['no vectors', whole([])],
  ['vectors of two widths', whole([row(0), row(1), row(2, [2, 1, 0])])],
  ['a null among the numbers', whole([row(0), row(1), { ...row(2), embedding: [2, null] }])],
  ['a number that is not finite', whole([row(0), row(1), row(2, [2, Number.POSITIVE_INFINITY])])],
  ['Base64 of five bytes', whole([row(0), row(1), { ...row(2), embedding: 'AAAAAAA=' }])],
  ['an empty vector', whole([row(0), row(1), { ...row(2), embedding: [] }])],
  ['a vector twice', `${whole(good).slice(0, -1)},"data":${JSON.stringify(good)}}`],
  ['vectors of another name', JSON.stringify({ embeddings: good })],
  ['a list', JSON.stringify(good)],
  ['a page of a proxy', '<html>Bad gateway</html>'],
  ['nothing', ''],
  ['an error in a 200', '{"error":{"message":"overloaded","type":"server_error"}}'],
];

describe('a reply with', () => {
  it.each(unusable)('%s is given up for another channel', async (_name, document) => {
    const { status, text, sent } = await replyTo(document);

    expect(status).toBe(200);
    expect(firsts(text)).toEqual([0, 1, 2]);
    expect(sent).toBe(2);
  });

  it.each(unusable)('%s is an error where there is no other channel', async (_name, document) => {
    const upstream = answering(() => ({ chunks: [document] }));
    const gateway = embedGateway({ dialect: 'openai', upstream });

    const { status, text } = await gateway.call(batch);

    expect(status).toBeGreaterThanOrEqual(500);
    expect(text).not.toContain('values');
    expect(await gateway.state()).toEqual(untouched);
  });

  it('an end anywhere is given up, and costs the prompt, as one that is relayed', async () => {
    const document = whole(good);
    const prompt = { held: 0n, used: 3n, inFlight: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: document.length - 1 }),
        fc.constantFrom<ScriptedReply['ending']>('end', 'reset'),
        async (length, ending = 'end') => {
          const upstream = answering(() => ({ chunks: [document.slice(0, length)], ending }));
          const gateway = embedGateway({ dialect: 'openai', upstream });

          const { status, text } = await gateway.call(batch);

          expect(status).toBe(502);
          expect(text).not.toContain('values');
          const isWhole = length === 0 && ending === 'end';
          expect(await gateway.state()).toEqual(isWhole ? untouched : prompt);
        },
      ),
    );
  });

  it('an end anywhere costs nothing if it is one of several for a call', async () => {
    const document = whole(good.slice(0, 1));
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: document.length - 1 }),
        fc.integer({ min: 0, max: 2 }),
        fc.constantFrom<ScriptedReply['ending']>('end', 'reset'),
        async (length, broken, ending = 'end') => {
          const upstream = answering((_, index) =>
            index < broken
              ? { chunks: [document] }
              : { chunks: [document.slice(0, length)], ending },
          );
          const capabilities = { embeddingBatch: 1 };
          const gateway = embedGateway({ dialect: 'openai', upstream, capabilities });

          const { status } = await gateway.call(batch);

          expect(status).toBe(502);
          expect(await gateway.state()).toEqual(untouched);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('the width that a caller asks for', () => {
  it.each([
    [2, 200],
    [3, 502],
  ])('%i is checked', async (dimensions, expected) => {
    const upstream = answering(() => ({ chunks: ['{"embeddings":[{"values":[1,2]}]}'] }));
    const { call } = embedGateway({ dialect: 'gemini', upstream });

    const { status } = await call(openaiCall({ input: 'a', dimensions }));

    expect(status).toBe(expected);
  });

  it('is the same in all pieces of a call', async () => {
    const upstream = answering((_request, index) => ({
      chunks: [JSON.stringify({ embeddings: [{ values: index === 0 ? [1, 2] : [1] }] })],
    }));
    const { call } = embedGateway({
      dialect: 'gemini',
      upstream,
      capabilities: { embeddingBatch: 1 },
    });

    const { status } = await call(openaiCall({ input: ['a', 'b'] }));

    expect(status).toBe(502);
  });
});
