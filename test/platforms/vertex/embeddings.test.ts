// suite: slow
/** Embeddings on Vertex AI: the requests that a call becomes, its vectors and its usage. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { vertex } from '../../../src/platforms/places.ts';
import type { UpstreamRequest } from '../../../src/ports/upstream-client.ts';
import { anyModelGateway, embeddings, nativeEmbeddings } from '../../support/any-model-gateway.ts';
import { fixture } from '../../support/recorded/fixtures.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { token } from './sent-requests.ts';

const place = vertex({ kind: 'google', project: 'p', location: 'us-central1' });
const json = { 'content-type': 'application/json' };

type Reply = (body: JsonValue) => unknown;

/** The vector of a text is its length, so that a mixed-up order would be seen. */
const lengthOf = (text: JsonValue | undefined): number => String(text).length;

const predictReply: Reply = (body) => ({
  predictions: items(member(body, 'instances')).map((instance) => {
    const length = lengthOf(member(instance, 'content'));
    return { embeddings: { statistics: { token_count: length }, values: [length] } };
  }),
});
const embedReply: Reply = (body) => {
  const text = member(items(member(member(body, 'content'), 'parts'))[0] ?? null, 'text');
  const length = lengthOf(text);
  return { embedding: { values: [length] }, usageMetadata: { promptTokenCount: length } };
};

async function embed(upstreamModel: string, input: readonly string[], reply: Reply) {
  const requests: UpstreamRequest[] = [];
  const upstream = {
    send: async (request: UpstreamRequest) => {
      requests.push(request);
      const body = parseJson(Buffer.concat(request.body).toString()) ?? null;
      const chunks = [JSON.stringify(reply(body))];
      return await scriptedUpstream({ headers: json, chunks }).send(request);
    },
    close: async () => {},
  };
  const channel = { credential: token, upstreamModel, ...place };
  const gateway = anyModelGateway({ upstream, channel });
  const answer = await gateway.call(embeddings(JSON.stringify({ model: 'm', input })));
  return { answer, requests, record: gateway.records[0] };
}

const texts = fc.array(
  fc.integer({ min: 1, max: 40 }).map((length) => 'x'.repeat(length)),
  { minLength: 1, maxLength: 25 },
);

describe.each([
  ['gemini-embedding-2', 'embedContent', 1, embedReply],
  ['publishers/google/models/gemini-embedding-2', 'embedContent', 1, embedReply],
  ['gemini-embedding-001', 'predict', 1, predictReply],
  ['text-embedding-005', 'predict', 9, predictReply],
  ['text-multilingual-embedding-002', 'predict', 9, predictReply],
] as const)('%s', (model, method, batch, reply) => {
  it(`gets at most ${batch} texts by :${method}, and each its own vector`, async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (input) => {
        const { answer, requests, record } = await embed(model, input, reply);
        const data = items(member(parseJson(answer.text) ?? null, 'data'));
        const tokens = input.reduce((sum, { length }) => sum + length, 0);

        expect(requests.length).toBe(Math.ceil(input.length / batch));
        for (const { path } of requests) expect(path).toMatch(new RegExp(`:${method}$`));
        expect(data.map((one) => member(one, 'embedding'))).toEqual(
          input.map(({ length }) => [length]),
        );
        expect(record).toMatchObject({ outcome: 'complete', usage: { inputTokens: tokens } });
      }),
      { numRuns: 15, examples: [[Array.from({ length: 10 }, () => 'x')]] },
    );
  });
});

it('a reply that leaves out the tokens of one text is charged by an estimate', async () => {
  const { answer, record } = await embed('text-embedding-005', ['a', 'bb'], () => ({
    predictions: [
      { embeddings: { values: [1], statistics: { token_count: 1 } } },
      { embeddings: { values: [2] } },
    ],
  }));

  expect(answer.headers['x-tollgate-estimated']).toBeDefined();
  expect(record).toMatchObject({ basis: 'estimate' });
});

it.each([
  ['too few', { predictions: [{ embeddings: { values: [1] } }] }],
  ['none', { predictions: [] }],
  ['of another API', { embeddings: [{ values: [1] }, { values: [2] }] }],
])('a reply with results %s is no reply', async (_, reply) => {
  const { answer } = await embed('text-embedding-005', ['a', 'bb'], () => reply);
  expect(answer.status).toBe(502);
});

it.each([
  ['embeddings/vertex-predict.1', 'text-embedding-005', 4],
  ['embeddings/vertex-embedcontent.1', 'gemini-embedding-2', 11],
] as const)('%s reaches callers of both APIs', async (name, upstreamModel, tokens) => {
  const { response } = fixture(name);
  const upstream = scriptedUpstream({ headers: json, chunks: [response] });
  const gateway = anyModelGateway({
    upstream,
    channel: { credential: token, upstreamModel, ...place },
  });
  const recorded = parseJson(Buffer.from(response).toString()) ?? null;
  const first = items(member(recorded, 'predictions'))[0] ?? null;
  const values = member(member(first, 'embeddings') ?? member(recorded, 'embedding'), 'values');

  const openai = await gateway.call(embeddings());
  const gemini = await gateway.call(
    nativeEmbeddings('{"content":{"parts":[{"text":"Hello, world!"}]}}', 'embedContent'),
  );

  const [one = null] = items(member(parseJson(openai.text) ?? null, 'data'));
  expect(member(one, 'embedding')).toEqual(values);
  expect(member(member(parseJson(gemini.text) ?? null, 'embedding'), 'values')).toEqual(values);
  expect(gateway.records.map(({ usage }) => usage?.inputTokens)).toEqual([tokens, tokens]);
});
