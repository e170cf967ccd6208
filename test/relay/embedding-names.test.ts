// suite: slow
/** Every name of the model in a native embedding request: checked, and replaced where relayed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyModelGateway, embeddings, nativeEmbeddings } from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { json } from './streams.ts';

const vector = '{"embeddings":[{"values":[1]}],"embedding":{"values":[1]}}';

/** A text of JSON that names the model, and what is sent upstream in its place. */
type Spelling = readonly [name: string, upstream: string];

const spellings: readonly Spelling[] = [
  ['"m"', '"up-1"'],
  ['"models/m"', '"models/up-1"'],
  ['"\\u006d"', '"up-1"'],
  ['"models\\/m"', '"models/up-1"'],
  ['"\\u006dodels/m"', '"models/up-1"'],
];

const space = fc.constantFrom('', ' ', '\n\t', '  ');
const spelling = fc.constantFrom(...spellings);
/** Members around the name; some contain text that only looks like it. */
const other = fc.constantFrom(
  '"content":{"parts":[{"text":"models/m"}]}',
  '"content":{"parts":[{"text":"\\"model\\":\\"models/m\\"","model":"models/m"}]}',
  '"content":{"model":"m","parts":[]}',
);
const name = fc.constantFrom('"model"', '"mod\\u0065l"');

/** One request with its text before and after the edit. */
const request = fc
  .tuple(fc.option(spelling, { nil: undefined }), other, name, space, fc.boolean())
  .map(([spelled, content, member, gap, isFirst]) => {
    const written = (value: string) => {
      const named = `${member}${gap}:${gap}${value}`;
      const members = isFirst ? [named, content] : [content, named];
      return `{${gap}${members.join(`${gap},`)}${gap}}`;
    };
    if (spelled === undefined) return [`{${content}}`, `{${content}}`] as const;
    return [written(spelled[0]), written(spelled[1])] as const;
  });

async function sent(body: string, method: 'embedContent' | 'batchEmbedContents') {
  const upstream = scriptedUpstream(json(vector));
  const gateway = anyModelGateway({ upstream, channel: { upstreamModel: 'up-1' } });
  const reply = await gateway.call(nativeEmbeddings(body, method));
  const [first] = upstream.requests;
  return { reply, path: first?.path, body: Buffer.concat(first?.body ?? []).toString() };
}

describe('the name of the model', () => {
  it('is replaced in every request of a batch, and no other byte changes', async () => {
    const batch = fc.tuple(fc.array(request, { minLength: 1, maxLength: 5 }), space);
    await fc.assert(
      fc.asyncProperty(batch, async ([requests, gap]) => {
        const write = (side: 0 | 1) =>
          `{${gap}"requests"${gap}:[${requests.map((one) => one[side]).join(`,${gap}`)}${gap}]}`;

        const { reply, path, body } = await sent(write(0), 'batchEmbedContents');

        expect([reply.status, reply.text]).toEqual([200, vector]);
        expect(path).toBe('/v1/models/up-1:batchEmbedContents');
        expect(body).toBe(write(1));
      }),
      { numRuns: 60 },
    );
  });

  it('is replaced in a single request, and no other byte changes', async () => {
    await fc.assert(
      fc.asyncProperty(request, async ([before, after]) => {
        const { reply, path, body } = await sent(before, 'embedContent');

        expect([reply.status, body]).toEqual([200, after]);
        expect(path).toBe('/v1/models/up-1:embedContent');
      }),
      { numRuns: 40 },
    );
  });

  it('is complete for models of other collections', async () => {
    const upstream = scriptedUpstream(json(vector));
    const channel = { upstreamModel: 'publishers/google/models/x y' };
    const gateway = anyModelGateway({ upstream, channel });

    await gateway.call(nativeEmbeddings('{"requests":[{"model":"models/m","content":{}}]}'));

    expect(upstream.requests[0]?.path).toBe(
      '/v1/publishers/google/models/x%20y:batchEmbedContents',
    );
    expect(Buffer.concat(upstream.requests[0]?.body ?? []).toString()).toBe(
      '{"requests":[{"model":"publishers/google/models/x y","content":{}}]}',
    );
  });

  it.each([
    '"other"',
    '"models/other"',
    '"models/models/m"',
    '"m "',
    '"M"',
    '""',
    'null',
    '1',
    '{}',
    '["m"]',
  ])('that differs from the path is refused in any request: %s', async (value) => {
    const good = '{"model":"models/m","content":{"parts":[{"text":"hi"}]}}';
    for (const at of [0, 1, 2]) {
      const requests = [good, good, good].map((one, index) =>
        index === at ? one.replace('"models/m"', value) : one,
      );

      const { reply, body } = await sent(`{"requests":[${requests}]}`, 'batchEmbedContents');

      expect([reply.status, body]).toEqual([400, '']);
      expect(reply.text).toContain(`requests[${at}].model`);
    }
    const single = await sent(good.replace('"models/m"', value), 'embedContent');
    expect([single.reply.status, single.body]).toEqual([400, '']);
  });

  it.each([
    '"model":"m","model":"m"',
    '"model":"m","mod\\u0065l":"other"',
  ])('that is there twice is refused: %s', async (names) => {
    const request = `{${names},"content":{"parts":[{"text":"hi"}]}}`;
    for (const [body, method] of [
      [`{"requests":[${request}]}`, 'batchEmbedContents'],
      [request, 'embedContent'],
    ] as const) {
      const { reply, body: upstreamBody } = await sent(body, method);

      expect([reply.status, upstreamBody]).toEqual([400, '']);
    }
  });

  it('of OpenAI’s API is replaced, and no other byte changes', async () => {
    const upstream = scriptedUpstream(json('{"data":[{"embedding":[1]}]}'));
    const gateway = anyModelGateway({ upstream, channel: { upstreamModel: 'up-1' } });
    const body = (model: string) => `{ "input": ["a",  "b"], "mod\\u0065l": ${model}, "x": 1.0 }`;

    await gateway.call(embeddings(body('"m"')));

    expect(Buffer.concat(upstream.requests[0]?.body ?? []).toString()).toBe(body('"up-1"'));
    expect(upstream.requests[0]?.path).toBe('/v1/embeddings');
  });
});
