// suite: search
/**
 * Failures of relayed embedding calls, in every status and cut at every byte: the caller gets a
 * whole reply of another account or an error, never part of a reply as a whole one, and pays once.
 */
import { describe, expect, it } from 'vitest';
import { type CallerReply, gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, model } from '../support/models.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { json } from './streams.ts';

/** 1 nano a token; the prompt is estimated at 1 token, the reported usage is 2. */
const embedder = model({
  id: 'm',
  protocols: ['embeddings'],
  price: { per: 'token', rates: { input: 1_000_000n } },
  contextTokens: 100,
});

const apis = [
  {
    name: 'OpenAI’s',
    dialect: 'openai',
    request: { path: '/v1/embeddings', body: { model: 'm', input: 'hi' } },
    reply: (numbers: number) =>
      `{"object":"list","data":[{"object":"embedding","embedding":[${list(numbers)}],"index":0}],` +
      '"usage":{"prompt_tokens":2,"total_tokens":2}}',
  },
  {
    name: 'Google’s',
    dialect: 'gemini',
    request: {
      path: '/v1beta/models/m:embedContent',
      body: { content: { parts: [{ text: 'hi' }] } },
    },
    reply: (numbers: number) =>
      `{"embedding":{"values":[${list(numbers)}]},"usageMetadata":{"promptTokenCount":2}}`,
  },
] as const;

type Api = (typeof apis)[number];

function list(numbers: number): string {
  return Array(numbers).fill('-0.25').join(',');
}

interface Outcome {
  readonly reply: CallerReply;
  readonly attempts: number;
  readonly charges: readonly bigint[];
  readonly held: bigint;
}

/** Sends the call with these answers, one for each account. */
async function outcomeOf(
  { request, dialect }: Api,
  ...answers: readonly ScriptedReply[]
): Promise<Outcome> {
  const upstream = scriptedUpstream(...answers);
  const channels = answers.map((_, index) =>
    channel({ id: `c${index}`, dialect, priority: index }),
  );
  const { call, records, state } = gatewayInProcess({
    models: [{ ...embedder, channels }],
    options: { upstream },
  });
  const reply = await call(request);
  const { held } = await state();
  return {
    reply,
    attempts: upstream.requests.length,
    charges: records.map(({ chargeNanos }) => chargeNanos),
    held,
  };
}

describe.each(apis)('$name', (api) => {
  const whole = api.reply(3);
  const good = json(whole);

  it('a reply that is cut at any byte is taken from another account', async () => {
    for (let at = 0; at < whole.length; at += 1) {
      for (const ending of ['end', 'reset'] as const) {
        const cut: ScriptedReply = { ...json(whole.slice(0, at)), ending };

        const { reply, attempts, charges, held } = await outcomeOf(api, cut, good);

        expect([at, ending, reply.status, reply.text]).toEqual([at, ending, 200, whole]);
        expect([attempts, charges, held]).toEqual([2, [2n], 0n]);
      }
    }
  });

  it('a reply that is cut at any byte is an error where there is no other account', async () => {
    for (let at = 0; at < whole.length; at += 1) {
      for (const ending of ['end', 'reset'] as const) {
        const cut: ScriptedReply = { ...json(whole.slice(0, at)), ending };

        const { reply, charges, held } = await outcomeOf(api, cut);

        expect([at, ending, reply.status]).toEqual([at, ending, 502]);
        expect(JSON.parse(reply.text)).toHaveProperty('error');
        // Vectors may have been made, so the prompt is charged, however the reply broke off. A
        // reply of no bytes is whole.
        const isEmpty = at === 0 && ending === 'end';
        expect([at, ending, charges]).toEqual([at, ending, [isEmpty ? 0n : 1n]]);
        expect(held).toBe(0n);
      }
    }
  });

  it('a large reply that breaks off is cut, and costs at most its hold', async () => {
    const large = api.reply(30_000);
    for (const share of [0.5, 0.9, 0.999]) {
      const end = Math.floor(large.length * share);
      const middle = Math.floor(end / 2);
      const cut = json(large.slice(0, middle), large.slice(middle, end));

      const { reply, attempts, charges, held } = await outcomeOf(api, cut, good);

      expect([reply.status, reply.isCut]).toEqual([200, true]);
      expect(large.startsWith(reply.text)).toBe(true);
      expect(attempts).toBe(1);
      expect(charges).toHaveLength(1);
      expect(charges[0]).toBeLessThanOrEqual(3n);
      expect(held).toBe(0n);
    }
  });

  const retried = [301, 401, 403, 404, 429, 500, 502, 503, 529];
  it.each(retried)('the status %i is tried on another account', async (status) => {
    const { reply, attempts, charges, held } = await outcomeOf(
      api,
      { ...json('{"error":{"message":"no"}}'), status },
      good,
    );

    expect([reply.status, reply.text, attempts]).toEqual([200, whole, 2]);
    expect([charges, held]).toEqual([[2n], 0n]);
  });

  it.each([400, 413, 422])('the status %i is the caller’s, and costs nothing', async (status) => {
    const refused = { ...json('{"error":{"message":"Too long."}}'), status };

    const { reply, attempts, charges, held } = await outcomeOf(api, refused, good);

    expect([reply.status >= 400 && reply.status < 500, attempts]).toEqual([true, 1]);
    expect(charges.every((nanos) => nanos === 0n)).toBe(true);
    expect(held).toBe(0n);
  });
});
