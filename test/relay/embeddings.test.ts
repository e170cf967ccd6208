// suite: slow
/** Relayed embeddings: the recorded replies pass unchanged, with their usage. */
import { describe, expect, it } from 'vitest';
import {
  type AnyModelGateway,
  anyModelGateway,
  type CallerRequest,
  embeddings,
  nativeEmbeddings,
} from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { type Fixture, fixture, fixtures } from '../support/recorded/fixtures.ts';
import { someOf } from '../support/sample.ts';
import {
  type ScriptedReply,
  type ScriptedUpstream,
  scriptedUpstream,
} from '../support/scripted-upstream.ts';
import { bytewise, json, pieces } from './streams.ts';

const recordings = fixtures('embeddings').filter(
  ({ url }) => !/:(?:predict|countTokens)/.test(url),
);
const replies = recordings.filter(({ status }) => status === 200);
const refusals = recordings.filter(({ status }) => status !== 200);

/** The input tokens that each recording states, read by hand. */
const statedTokens: Readonly<Record<string, number | undefined>> = {
  'embeddings/gemini-batch.1': undefined,
  'embeddings/gemini-query.1': undefined,
  'embeddings/gemini2-dimensions.1': 8,
  'embeddings/gemini2-image.1': 261,
  'embeddings/gemini2-query-prefix.1': 11,
  'embeddings/gemini2-tasktype-usage.1': 1,
  'embeddings/gemini2-usage.1': 14,
  'embeddings/openai-documents.1': 2,
  'embeddings/openai-float-many.1': 3,
  'embeddings/openai-float.1': 7,
  'embeddings/openai-query.1': 4,
  'embeddings/openrouter-cost.1': 7,
  'embeddings/vertex-embedcontent.1': 11,
};

describe('a recorded embeddings reply', () => {
  it.each(
    replies.map(named),
  )('%s is relayed byte for byte, with its usage', async (_, recorded) => {
    const { reply, gateway, upstream } = await relayed(json(recorded.response), recorded);
    const tokens = statedTokens[recorded.name];

    expect(reply.status).toBe(200);
    expect(reply.bytes.equals(recorded.response)).toBe(true);
    expect(bodyOf(upstream).equals(requestBytes(recorded))).toBe(true);
    expect(upstream.requests[0]?.path).toBe(upstreamPathOf(recorded));
    expect(gateway.records[0]).toMatchObject({
      protocol: 'embeddings',
      outcome: 'complete',
      reason: undefined,
      ...(tokens === undefined
        ? { basis: 'estimate' }
        : { basis: 'usage', usage: { inputTokens: tokens, outputTokens: 0 } }),
    });
    expect(gateway.records[0]?.chargeNanos).toBeGreaterThan(0n);
    expect(gateway.records[0]?.chargeNanos).toBeLessThanOrEqual(
      gateway.records[0]?.heldNanos ?? 0n,
    );
  });

  it.each(replies.map(named))('%s does not depend on its chunks', async (_, recorded) => {
    const { response } = recorded;
    const plain = await relayed(json(response), recorded);
    const cuts = [pieces(response, 1), ...(response.length < 4_000 ? [bytewise(response)] : [])];

    for (const chunks of someOf(cuts)) {
      const cut = await relayed(json(...chunks), recorded);

      expect(cut.reply.bytes.equals(plain.reply.bytes)).toBe(true);
      expect(cut.gateway.records[0]).toMatchObject({
        outcome: 'complete',
        usage: plain.gateway.records[0]?.usage,
        chargeNanos: plain.gateway.records[0]?.chargeNanos,
      });
    }
  });

  it.each(replies.map(named))('%s is broken when it is cut off', async (_, recorded) => {
    const { response } = recorded;
    for (const share of [0.1, 0.5, 0.9, 0.999]) {
      const cut = response.subarray(0, Math.floor(response.length * share));

      const { reply, gateway } = await relayed(json(cut), recorded);

      expect(reply.bytes.equals(response)).toBe(false);
      expect(gateway.records[0]?.outcome).not.toBe('complete');
    }
  });
});

it('the image tokens of a recorded reply are charged at the rate of images', async () => {
  const recorded = fixture('embeddings/gemini2-image.1');
  const upstream = scriptedUpstream(json(recorded.response));
  const rates = { input: 1_000_000n, output: 1_000_000n, imageInput: 7_000_000n };
  const gateway = anyModelGateway({ upstream, model: { price: { per: 'token', rates } } });

  await gateway.call(requestOf(recorded));

  expect(gateway.records[0]).toMatchObject({
    usage: { inputTokens: 261, imageInputTokens: 258 },
    chargeNanos: 3n + 258n * 7n,
  });
});

describe('a recorded refusal', () => {
  it.each(
    refusals.map(named),
  )('%s reaches its caller without the upstream’s text', async (_, recorded) => {
    const { reply } = await relayed(
      { ...json(recorded.response), status: recorded.status },
      recorded,
    );

    // That the account's key is wrong is not the caller's mistake.
    expect(reply.status).toBe(recorded.status === 404 ? 404 : 502);
    expect(Object.keys(JSON.parse(reply.text))).toEqual(['error']);
    expect(reply.text).not.toContain('azure');
  });
});

describe('a token count for an embedding model', () => {
  const { request = new Uint8Array(0), response } = fixture('embeddings/gemini-count-tokens.1');
  const call = { path: '/v1beta/models/m:countTokens', body: request };

  it('is relayed to Gemini, for a model that writes no text', async () => {
    const upstream = scriptedUpstream(json(response));
    const gateway = anyModelGateway({ upstream, model: { protocols: ['embeddings'] } });

    const reply = await gateway.call(call);

    expect(reply.bytes.equals(response)).toBe(true);
    expect(upstream.requests[0]?.path).toBe('/v1/models/m:countTokens');
    expect(gateway.records[0]).toMatchObject({ protocol: 'native', chargeNanos: 0n });
  });

  it('is estimated over OpenAI, and says so', async () => {
    const gateway = anyModelGateway({
      upstream: scriptedUpstream(json('{}')),
      model: { protocols: ['embeddings'] },
      channel: { dialect: 'openai' },
    });

    const reply = await gateway.call(call);

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-estimated']).toBe('totalTokens');
    expect(JSON.parse(reply.text).totalTokens).toBeGreaterThan(0);
  });
});

describe('a reply without usage', () => {
  const openai = '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}]}';

  it('is marked for an OpenAI caller, and its bytes stay', async () => {
    const { reply, gateway } = await relayed(json(openai), embeddings());

    expect(reply.text).toBe(openai);
    expect(reply.headers['x-tollgate-estimated']).toBe('usage');
    expect(gateway.records[0]).toMatchObject({ basis: 'estimate', outcome: 'complete' });
  });

  it('is not marked for a native caller, whose API had none for long', async () => {
    const { reply, gateway } = await relayed(
      json('{"embeddings":[{"values":[1]},{"values":[2]}]}'),
      nativeEmbeddings(),
    );

    expect(reply.headers).not.toHaveProperty('x-tollgate-estimated');
    expect(gateway.records[0]).toMatchObject({ basis: 'estimate', outcome: 'complete' });
  });

  it('costs the same whether it is small or large', async () => {
    const vectors = (length: number) =>
      `{"embeddings":[${[1, 2].map((one) => `{"values":[${Array(length).fill(one)}]}`)}]}`;
    const small = await relayed(json(vectors(1)), nativeEmbeddings());
    const large = await relayed(json(vectors(100_000)), nativeEmbeddings());

    expect(large.reply.text).toBe(vectors(100_000));
    expect(large.gateway.records[0]).toMatchObject({
      basis: 'estimate',
      chargeNanos: small.gateway.records[0]?.chargeNanos,
    });
  });
});

describe('the number of vectors', () => {
  const openai = (count: number, length: number) =>
    `{"object":"list","data":[${Array(count).fill(`{"embedding":[${Array(length).fill(1)}]}`)}],` +
    '"usage":{"prompt_tokens":4,"total_tokens":4}}';
  const gemini = (count: number, length: number) =>
    `{"embeddings":[${Array(count).fill(`{"values":[${Array(length).fill(1)}]}`)}],` +
    '"usageMetadata":{"promptTokenCount":4}}';
  const threeInputs = embeddings('{"model":"m","input":["a","b","c"]}');
  const cases = [
    ['openai', threeInputs, openai, 3],
    ['gemini', nativeEmbeddings(), gemini, 2],
  ] as const;
  // Small replies are judged whole, large ones as they pass.
  const lengths = [1, 20_000];

  it.each(cases)('is compared with the inputs: %s', async (_, request, write, inputs) => {
    for (const length of lengths) {
      for (const count of [0, inputs - 1, inputs, inputs + 1]) {
        const { reply, gateway } = await relayed(json(write(count, length)), request);

        expect(reply.text).toBe(write(count, length));
        expect(gateway.records[0]).toMatchObject({
          outcome: 'complete',
          reason: count === inputs ? undefined : 'upstream_count',
          usage: { inputTokens: 4 },
        });
      }
    }
  });

  it('is one for a single content', async () => {
    const { gateway } = await relayed(
      json('{"embedding":{"values":[1]},"usageMetadata":{"promptTokenCount":2}}'),
      nativeEmbeddings('{"content":{"parts":[{"text":"hi"}]}}', 'embedContent'),
    );

    expect(gateway.records[0]).toMatchObject({ reason: undefined, usage: { inputTokens: 2 } });
  });
});

describe('an error in a 2xx', () => {
  it.each([
    ['openai', embeddings(), '{"error":{"message":"no","code":"rate_limit_exceeded"}}'],
    ['gemini', nativeEmbeddings(), '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}'],
    ['a list', embeddings(), '[]'],
    ['a chat reply', embeddings(), '{"choices":[{"message":{"content":"hi"}}]}'],
    ['an object', nativeEmbeddings(), '{"embedding":{"values":[1]}}'],
  ])('is not passed on as a reply: %s', async (_, request, text) => {
    const { reply, gateway } = await relayed(json(text), request);

    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(gateway.records[0]?.outcome).not.toBe('complete');
  });
});

async function relayed(
  answer: ScriptedReply,
  what: CallerRequest | Fixture,
): Promise<{
  readonly reply: CallerReply;
  readonly gateway: AnyModelGateway;
  readonly upstream: ScriptedUpstream;
}> {
  const upstream = scriptedUpstream(answer);
  const gateway = anyModelGateway({
    upstream,
    model: {
      price: {
        per: 'token',
        rates: { input: 1_000_000n, output: 1_000_000n, imageInput: 1_000_000n },
      },
    },
  });
  const reply = await gateway.call('path' in what ? what : requestOf(what));
  return { reply, gateway, upstream };
}

function requestOf(recorded: Fixture): CallerRequest {
  const method = /models\/([^/]+:\w+)$/.exec(recorded.url)?.[1];
  const path = method === undefined ? '/v1/embeddings' : `/v1beta/models/${method}`;
  return { path, body: requestBytes(recorded) };
}

function upstreamPathOf(recorded: Fixture): string {
  return requestOf(recorded).path.replace('/v1beta/', '/v1/');
}

function requestBytes({ request = new Uint8Array(0) }: Fixture): Uint8Array {
  return request;
}

function bodyOf({ requests }: ScriptedUpstream): Buffer {
  return Buffer.concat(requests[0]?.body ?? []);
}

function named(recorded: Fixture): [string, Fixture] {
  return [recorded.name, recorded];
}
