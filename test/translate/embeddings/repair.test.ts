// suite: slow
/** The repair of relayed vectors: however a reply is cut, only those of the other format change. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type EmbeddingFormat,
  embeddingRepair,
} from '../../../src/dialects/openai/embedding-repair.ts';
import { turnBytes } from '../../../src/upstream/body/in-turns.ts';
import { answering, base64Of, embedGateway, openaiCall } from './embed-gateway.ts';

function repaired(
  text: string,
  wanted: EmbeddingFormat,
  cuts: readonly number[] = [],
  checksEvery = false,
) {
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const repair = embeddingRepair(wanted, checksEvery);
  let from = 0;
  const pieces: Uint8Array[] = [];
  for (const to of [...places, bytes.length]) {
    // A copy, as if the memory of a chunk were reused.
    const chunk = Uint8Array.from(bytes.subarray(from, to));
    pieces.push(Uint8Array.from(repair.write(chunk)));
    chunk.fill(0);
    from = to;
  }
  return { text: Buffer.concat(pieces).toString(), repair };
}

const cuts = fc.array(fc.nat(100_000), { maxLength: 30 });
const formats = ['float', 'base64'] as const;
const values = fc.array(
  fc.integer({ min: -50, max: 50 }).map((one) => one / 4),
  { minLength: 1 },
);
const vectors = fc.array(fc.tuple(values, fc.boolean()), { minLength: 1, maxLength: 5 });

const rowOf = (vector: string, index: number): string =>
  `{"index":${index},"embedding": ${vector} ,"y":{"embedding":[9]}}`;

/** A reply around vectors, with members that look like them elsewhere. */
const around = (list: readonly string[]): string =>
  `{"object":"list", "id": "é\\"[","embedding":[9],"x":{"data":[{"embedding":[9]}]},` +
  `"data":\n[${list.map(rowOf).join(', ')}],` +
  `"model":"m","usage":{"prompt_tokens":1.0,"cost":1e-7}}`;

describe.each(formats)('a relayed reply to a call for %s', (wanted) => {
  const other = wanted === 'float' ? 'base64' : 'float';
  const written = (numbers: readonly number[], format: EmbeddingFormat): string =>
    format === 'base64'
      ? `"${base64Of(numbers)}"`
      : `[${[...Float32Array.from(numbers)].map((one) => one.toPrecision(9)).join(',')}]`;

  it('has every vector in that format, and all other bytes as they came', () => {
    fc.assert(
      fc.property(vectors, cuts, (list, places) => {
        const sent = list.map(([numbers, isOther], index) =>
          written(numbers, isOther || index === 0 ? other : wanted),
        );

        const { text, repair } = repaired(around(sent), wanted, places);

        expect(text).toBe(around(list.map(([numbers]) => written(numbers, wanted))));
        expect(repair.hasRepaired()).toBe(true);
      }),
    );
  });

  it('is passed on as it is where its first vector is in that format', () => {
    fc.assert(
      fc.property(vectors, cuts, (list, places) => {
        const sent = around(list.map(([numbers]) => written(numbers, wanted)));

        const { text, repair } = repaired(sent, wanted, places);

        expect(text).toBe(sent);
        expect(repair.hasRepaired()).toBe(false);
      }),
    );
  });

  it('is unusable where every vector is checked and they are of both formats', () => {
    fc.assert(
      fc.property(vectors, cuts, (list, places) => {
        const formatsSent = list.map(([, isOther]) => (isOther ? other : wanted));
        const sent = list.map(([numbers], index) => written(numbers, formatsSent[index] ?? wanted));

        const { text, repair } = repaired(around(sent), wanted, places, true);

        const isMixed = new Set(formatsSent).size > 1;
        expect(repair.isUnusable()).toBe(isMixed);
        const passed = around(list.map(([numbers]) => written(numbers, wanted)));
        if (!isMixed) expect(text).toBe(passed);
      }),
    );
  });

  const broken = wanted === 'float' ? ['"AAA"', '"{}"', '""'] : ['[1,null]', '[]', '[1e39]'];

  it.each(['{}', '12', 'null', ...broken])('is unusable with %s as a vector', (vector) => {
    const first = written([1], other);

    expect(repaired(around([first, vector]), wanted).repair.isUnusable()).toBe(true);
  });
});

describe('a relayed call', () => {
  const floats = [0.5, -0.25];
  const replyWith = (embedding: unknown, count = 1): string =>
    JSON.stringify({
      object: 'list',
      data: Array.from({ length: count }, (_, index) => ({ index, embedding })),
      model: 'm',
      usage: { prompt_tokens: 4, total_tokens: 4, cost: 0.1 },
    });
  const numbers = [0.5, -0.25];
  const callFor = (format?: string) =>
    openaiCall({ input: 'a', ...(format === undefined ? {} : { encoding_format: format }) });

  it.each([
    [undefined, base64Of(floats), numbers],
    ['float', base64Of(floats), numbers],
    ['base64', numbers, base64Of(floats)],
    [undefined, numbers, numbers],
    ['base64', base64Of(floats), base64Of(floats)],
  ])('for %s gets it from an upstream that sends %j', async (format, sent, expected) => {
    const upstream = answering(() => ({ chunks: [replyWith(sent)] }));
    const gateway = embedGateway({ dialect: 'openai', upstream });

    const { text } = await gateway.call(callFor(format));
    await gateway.call(callFor(format));

    const document = JSON.parse(text);
    expect(document.data).toEqual([{ index: 0, embedding: expected }]);
    expect(document.usage).toEqual({ prompt_tokens: 4, total_tokens: 4, cost: 0.1 });
    const isOther = typeof sent !== typeof expected;
    expect(gateway.events.filter(({ type }) => type === 'embedding_format')).toEqual(
      isOther ? [{ type: 'embedding_format', channelId: 'c0' }] : [],
    );
  });

  it.each([
    [{ embeddingBase64: false }, 'base64', 'float', numbers],
    [{ embeddingFloat: false }, 'float', 'base64', base64Of(floats)],
    [{ embeddingFloat: false }, undefined, 'base64', base64Of(floats)],
  ])('with %j asks for what it accepts', async (capabilities, format, sent, answer) => {
    const upstream = answering(() => ({ chunks: [replyWith(answer)] }));
    const gateway = embedGateway({ dialect: 'openai', upstream, capabilities });

    const { text } = await gateway.call(callFor(format));

    expect(upstream.sent[0]?.body).toEqual({
      model: 'text-embedding-3-small',
      input: 'a',
      encoding_format: sent,
    });
    const [{ embedding }] = JSON.parse(text).data;
    expect(embedding).toEqual(format === 'base64' ? base64Of(floats) : numbers);
    expect(gateway.eventTypes()).not.toContain('embedding_format');
  });

  it('gets a large reply repaired as it flows, and is charged by its usage', async () => {
    const vector = Array.from({ length: 1_536 }, (_, index) => index / 2_048);
    const chunks = replyWith(vector, 40).match(/.{1,16000}/gs) ?? [];
    const upstream = answering(() => ({ chunks }));
    const gateway = embedGateway({ dialect: 'openai', upstream });

    const { text, writes } = await gateway.call(callFor('base64'));
    const record = await gateway.nextRecord();

    expect(JSON.parse(text).data.map(({ embedding }: { embedding: string }) => embedding)).toEqual(
      Array.from({ length: 40 }, () => base64Of(vector)),
    );
    expect(writes.length).toBeGreaterThan(1);
    expect(record).toMatchObject({ chargeNanos: 4n, basis: 'usage', reason: 'upstream_count' });
  });

  describe.each([
    [{ embeddingBase64: false }, 'base64'],
    [{ embeddingFloat: false }, 'float'],
  ])('with %j', (capabilities, format) => {
    /** `count` vectors, of which those at `places` are of the other format. */
    const mixedWith = (count: number, places: readonly number[]): string =>
      JSON.stringify({
        data: Array.from({ length: count }, (_, index) => ({
          index,
          embedding: places.includes(index) ? numbers : base64Of(floats),
        })),
        usage: { prompt_tokens: 4 },
      });

    it.each([
      [[0]],
      [[1]],
      [[2]],
      [[0, 1]],
      [[1, 2]],
      [[0, 2]],
    ])('gets no small reply of both formats, numbers at %j', async (places) => {
      const upstream = answering(() => ({ chunks: [mixedWith(3, places)] }));
      const gateway = embedGateway({ dialect: 'openai', upstream, capabilities });

      const { status, text } = await gateway.call(callFor(format));

      expect(status).toBe(502);
      expect(text).not.toContain('embedding');
    });

    it.each([
      0, 1, 2_500, 4_999,
    ])('gets a large reply of both formats cut, the odd one at %i', async (place) => {
      const chunks = mixedWith(5_000, [place]).match(/.{1,16000}/gs) ?? [];
      const upstream = answering(() => ({ chunks }));
      const gateway = embedGateway({ dialect: 'openai', upstream, capabilities });

      const { status, text, isCut } = await gateway.call(callFor(format));

      // A place in the first 64 KiB is seen before anything is sent.
      expect([status, isCut]).toEqual(place < 2 ? [502, false] : [200, true]);
      const passed = text.match(/"embedding":("|\[)/g) ?? [];
      expect(new Set(passed).size).toBeLessThan(2);
      expect(text).not.toContain('usage');
    });
  });

  it('fails with a vector that can’t be repaired', async () => {
    const upstream = answering(() => ({ chunks: [replyWith([1, null])] }));
    const { call } = embedGateway({ dialect: 'openai', upstream });

    expect((await call(callFor('base64'))).status).toBe(502);
  });

  it('refuses token ids where the channel takes none, before anything is sent', async () => {
    const upstream = answering(() => ({ chunks: [replyWith(numbers)] }));
    const capabilities = { embeddingTokens: false };
    const { call } = embedGateway({ dialect: 'openai', upstream, capabilities });

    const { status, text } = await call(openaiCall({ input: [1, 2] }));

    expect(status).toBe(400);
    expect(JSON.parse(text).error.param).toBe('input');
    expect(upstream.sent).toHaveLength(0);
  });
});

it('a reply that arrives at once is converted in turns of the event loop', async () => {
  const numbers = `[${Array.from({ length: 100_000 }, () => '0.25').join(',')}]`;
  const rows = Array.from(
    { length: 10 },
    (_, index) => `{"index":${index},"embedding":${numbers}}`,
  );
  const document = `{"data":[${rows.join(',')}],"usage":{"prompt_tokens":10}}`;
  const upstream = answering(() => ({ chunks: [document] }));
  const { call } = embedGateway({ dialect: 'openai', upstream });
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);

  const input = Array.from({ length: 10 }, () => 'a');
  const { status, text } = await call(openaiCall({ input, encoding_format: 'base64' }));
  clearImmediate(next);

  expect(status).toBe(200);
  expect(text.match(/"embedding":"/g)).toHaveLength(10);
  expect(turns).toBeGreaterThanOrEqual(document.length / turnBytes);
});
