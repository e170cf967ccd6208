// suite: slow
/** Calls with more inputs than an upstream takes at once: all of their vectors or none. */
import { describe, expect, it } from 'vitest';
import { UpstreamError } from '../../../src/errors.ts';
import { untouched } from '../../support/gateway-in-process.ts';
import type { ScriptedReply } from '../../support/scripted-upstream.ts';
import {
  answering,
  base64Of,
  embedGateway,
  floatsOf,
  nativeCall,
  openaiCall,
  type SentRequest,
} from './embed-gateway.ts';

const inputs = Array.from({ length: 2_048 }, (_, index) => `text ${index}`);

/** The vector of an input says which one it is. */
function geminiReply({ body }: SentRequest, usage = true): ScriptedReply {
  const texts: readonly string[] = body.requests.map(
    (request: { readonly content: { readonly parts: readonly { readonly text: string }[] } }) =>
      request.content.parts[0]?.text,
  );
  const usageMetadata = usage ? { promptTokenCount: texts.length * 3 } : undefined;
  const embeddings = texts.map((text) => ({ values: [Number(text.split(' ')[1]), 0.25] }));
  return { chunks: [JSON.stringify({ embeddings, usageMetadata })] };
}

function vectorsIn(text: string): readonly (readonly number[])[] {
  return JSON.parse(text).data.map(({ embedding }: { readonly embedding: string }) =>
    floatsOf(embedding),
  );
}

const request = openaiCall({ input: inputs, encoding_format: 'base64' });
const unavailable: ScriptedReply = { status: 500, chunks: ['{"error":{"code":500}}'] };

describe('2,048 inputs over Gemini', () => {
  it('take 21 requests in order, one hold and one charge of the sum', async () => {
    const upstream = answering((sent) => geminiReply(sent));
    const gateway = embedGateway({ dialect: 'gemini', upstream });

    const { status, text } = await gateway.call(request);
    const record = await gateway.nextRecord();

    expect(status).toBe(200);
    expect(vectorsIn(text)).toEqual(inputs.map((_, index) => [index, 0.25]));
    expect(upstream.sent.map(({ body }) => body.requests.length)).toEqual([
      ...Array.from({ length: 20 }, () => 100),
      48,
    ]);
    expect(JSON.parse(text).usage).toEqual({ prompt_tokens: 6_144, total_tokens: 6_144 });
    expect(record).toMatchObject({ chargeNanos: 6_144n, basis: 'usage', booked: true });
    expect(record.attempts).toHaveLength(1);
    expect(gateway.eventTypes().filter((type) => type === 'call_ended')).toHaveLength(1);
    expect(await gateway.state()).toEqual({ ...untouched, used: 6_144n });
  });

  it('are flagged as estimated as a whole if one piece has no usage', async () => {
    const upstream = answering((sent, index) => geminiReply(sent, index !== 4));
    const gateway = embedGateway({ dialect: 'gemini', upstream });

    const { text, headers } = await gateway.call(request);
    const record = await gateway.nextRecord();

    const stated = 6_144 - 300;
    const { prompt_tokens: tokens } = JSON.parse(text).usage;
    expect(headers['x-tollgate-estimated']).toBe('usage');
    expect(tokens).toBeGreaterThan(stated);
    expect(tokens).toBeLessThan(stated + 1_000);
    expect(record).toMatchObject({ basis: 'estimate', chargeNanos: BigInt(tokens) });
  });

  it('succeed although the 13th request fails once', async () => {
    const upstream = answering((sent, index) => (index === 12 ? unavailable : geminiReply(sent)));
    const gateway = embedGateway({ dialect: 'gemini', upstream, channels: 2 });

    const { text } = await gateway.call(request);

    expect(vectorsIn(text)).toEqual(inputs.map((_, index) => [index, 0.25]));
    expect(upstream.sent).toHaveLength(22);
    expect(upstream.sent[13]).toEqual(upstream.sent[12]);
    expect(new Set(upstream.sent.map(({ origin }) => origin)).size).toBe(1);
    expect(gateway.eventTypes()).toContain('part_failed');
  });

  it('all go to the next channel if the 13th fails twice', async () => {
    const upstream = answering((sent, index) =>
      index === 12 || index === 13 ? unavailable : geminiReply(sent),
    );
    const gateway = embedGateway({ dialect: 'gemini', upstream, channels: 2 });

    const { status, text } = await gateway.call(request);
    const record = await gateway.nextRecord();

    expect(status).toBe(200);
    expect(vectorsIn(text)).toEqual(inputs.map((_, index) => [index, 0.25]));
    expect(upstream.sent.map(({ origin }) => origin)).toEqual([
      ...Array.from({ length: 14 }, () => 'https://c0.example'),
      ...Array.from({ length: 21 }, () => 'https://c1.example'),
    ]);
    expect(record.chargeNanos).toBe(6_144n);
    expect(record.attempts.map(({ channelId }) => channelId)).toEqual(['c0', 'c1']);
  });

  it('are refused as a whole, and cost nothing, if every channel fails', async () => {
    const upstream = answering((sent, index) => (index % 20 < 3 ? geminiReply(sent) : unavailable));
    const gateway = embedGateway({ dialect: 'gemini', upstream });

    const { status, text } = await gateway.call(request);

    expect(status).toBe(502);
    expect(text).not.toContain('embedding');
    expect(upstream.sent).toHaveLength(5);
    expect(await gateway.state()).toEqual(untouched);
  });

  it('pass the wait of a rate limit on, without running into it again', async () => {
    const limited: ScriptedReply = {
      status: 429,
      headers: { 'content-type': 'application/json', 'retry-after': '7' },
      chunks: ['{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow"}}'],
    };
    const upstream = answering((sent, index) => (index === 12 ? limited : geminiReply(sent)));
    const gateway = embedGateway({ dialect: 'gemini', upstream });

    const { status, headers } = await gateway.call(request);

    expect(status).toBe(429);
    expect(headers['retry-after']).toBe('7');
    expect(upstream.sent).toHaveLength(13);
    expect(await gateway.state()).toEqual(untouched);
  });

  it.each([
    0, 4, 20,
  ])('send no further request once the caller has left during request %i', async (at) => {
    let leave = (): void => {};
    const upstream = answering((sent, index) => {
      if (index === at) leave();
      return geminiReply(sent);
    });
    const gateway = embedGateway({ dialect: 'gemini', upstream });

    const inProgress = gateway.start(request);
    leave = inProgress.disconnect;
    const record = await gateway.nextRecord();
    await expect(inProgress.reply).resolves.toBeDefined();

    expect(upstream.sent).toHaveLength(at + 1);
    expect(record).toMatchObject({ outcome: 'caller_left', status: 499, basis: 'estimate' });
    expect((await gateway.state()).held).toBe(0n);
  });

  it('are counted once against the concurrent calls of a key', async () => {
    const upstream = answering((sent) => geminiReply(sent));
    const gateway = embedGateway({
      dialect: 'gemini',
      upstream,
      key: { maxConcurrentCalls: 1 },
    });

    const first = await gateway.call(request);
    const second = await gateway.call(request);

    expect([first.status, second.status]).toEqual([200, 200]);
  });

  it('end with the time of the whole call', async () => {
    const upstream = answering((sent, index) => {
      gateway.clock.advance(40_000);
      return geminiReply(sent, index < 100);
    });
    const gateway = embedGateway({
      dialect: 'gemini',
      upstream,
      options: { timeouts: { totalMs: 100_000, firstByteMs: 90_000 } },
    });

    const { status } = await gateway.call(request);

    expect(status).toBe(504);
    expect(upstream.sent.length).toBeLessThan(5);
  });
});

describe('250 inputs, of which a request', () => {
  const some = openaiCall({ input: inputs.slice(0, 250) });
  const tokensBefore = [0, 300, 600];
  const error = (status: number): ScriptedReply => ({
    status,
    chunks: [JSON.stringify({ error: { code: status, message: 'no' } })],
  });
  /** The requests before that at `at` have replies; that one, and its repetition, fail. */
  const failingAt = (at: number, failure: ScriptedReply, usage = true) =>
    answering((sent, index) => (index < at ? geminiReply(sent, usage) : failure));
  const places = [0, 1, 2].flatMap((at) => [400, 413, 422].map((status) => [at, status] as const));

  it.each(places)('%i is refused with %i pay for those before it', async (at, status) => {
    const gateway = embedGateway({ dialect: 'gemini', upstream: failingAt(at, error(status)) });

    const reply = await gateway.call(some);
    const record = await gateway.nextRecord();

    const tokens = tokensBefore[at] ?? 0;
    expect(reply.status).toBe(status === 422 ? 400 : status);
    expect(reply.text).not.toContain('embedding');
    expect(record).toMatchObject({
      chargeNanos: BigInt(tokens),
      outcome: at === 0 ? 'not_run' : 'truncated',
      basis: at === 0 ? 'policy' : 'usage',
      attempts: [{ status, mayHaveRun: at > 0 }],
    });
    expect(record.usage?.inputTokens).toBe(at === 0 ? undefined : tokens);
    expect(await gateway.state()).toEqual({ ...untouched, used: BigInt(tokens) });
  });

  it.each([1, 2])('%i is refused pay an estimate where usage is missing', async (at) => {
    const upstream = failingAt(at, error(400), false);
    const gateway = embedGateway({ dialect: 'gemini', upstream });

    await gateway.call(some);
    const record = await gateway.nextRecord();

    expect(record).toMatchObject({ outcome: 'truncated', basis: 'estimate' });
    expect(record.chargeNanos).toBe(BigInt(record.usage?.inputTokens ?? 0));
    expect(record.chargeNanos).toBeGreaterThan(0n);
    expect(record.chargeNanos).toBeLessThan(record.heldNanos);
  });

  /** The chunks of an error; the caller leaves between them. */
  function* leavingWithin(text: string, leave: () => void): Generator<string> {
    yield text.slice(0, 5);
    leave();
    yield text.slice(5);
  }

  const leaving = [1, 2].flatMap((at) =>
    (['before', 'while'] as const).map((when) => ({ at, when })),
  );

  it.each(leaving)('$at is refused pay, if the caller leaves $when its error arrives', async ({
    at,
    when,
  }) => {
    let leave = (): void => {};
    const upstream = answering((sent, index) => {
      if (index < at) return geminiReply(sent);
      const refusal = error(400);
      if (when === 'while') {
        return { ...refusal, chunks: leavingWithin([...(refusal.chunks ?? [])].join(''), leave) };
      }
      leave();
      return refusal;
    });
    const gateway = embedGateway({ dialect: 'gemini', upstream });

    const inProgress = gateway.start(some);
    leave = inProgress.disconnect;
    const record = await gateway.nextRecord();
    await inProgress.reply;

    expect(record).toMatchObject({ outcome: 'caller_left', status: 499 });
    expect(record.chargeNanos).toBeGreaterThan(0n);
  });

  const upstreamFaults: readonly (readonly [string, ScriptedReply])[] = [
    ['401', error(401)],
    ['403', error(403)],
    ['404', error(404)],
    ['429', error(429)],
    ['500', error(500)],
    ['a page', { chunks: ['<html>'] }],
    ['half a reply', { chunks: ['{"embeddings":[{"va'], ending: 'reset' }],
  ];
  const failures = upstreamFaults.flatMap(([name, reply]) =>
    [1, 2].map((at) => [at, name, reply] as const),
  );

  const passing: readonly (readonly [string, () => ScriptedReply])[] = [
    ...upstreamFaults.slice(4).map(([name, reply]) => [name, () => reply] as const),
    ['no connection', () => refuse('connect')],
    ['no response', () => refuse('sent')],
  ];
  const repeated = passing.flatMap(([name, reply]) =>
    [0, 1, 2].map((at) => [at, name, reply] as const),
  );

  function refuse(stage: 'connect' | 'sent'): never {
    throw new UpstreamError(stage, 'reset');
  }

  it.each(
    repeated,
  )('%i fails once with %s are served by the same channel', async (at, _name, failure) => {
    const upstream = answering((sent, index) => (index === at ? failure() : geminiReply(sent)));
    const gateway = embedGateway({ dialect: 'gemini', upstream, channels: 2 });

    const { status, text } = await gateway.call(some);
    const record = await gateway.nextRecord();

    expect(status).toBe(200);
    expect(JSON.parse(text).data).toHaveLength(250);
    expect(upstream.sent[at + 1]).toEqual(upstream.sent[at]);
    expect(upstream.sent.map(({ origin }) => origin)).toEqual(
      new Array(4).fill('https://c0.example'),
    );
    expect(record).toMatchObject({ chargeNanos: 750n, outcome: 'complete' });
    expect(record.attempts).toHaveLength(1);
    expect(gateway.eventTypes().filter((type) => type === 'part_failed')).toHaveLength(1);
    expect(await gateway.state()).toEqual({ ...untouched, used: 750n });
  });

  it.each(failures)('%i fails with %s pay nothing, but ran', async (at, _name, failure) => {
    const upstream = failingAt(at, failure);
    const gateway = embedGateway({ dialect: 'gemini', upstream });

    const { status } = await gateway.call(some);
    const record = await gateway.nextRecord();

    expect(status).toBeGreaterThanOrEqual(400);
    expect(record).toMatchObject({ chargeNanos: 0n, outcome: 'unknown' });
    expect(record.attempts.map(({ mayHaveRun }) => mayHaveRun)).toEqual([true]);
    expect(await gateway.state()).toEqual(untouched);
  });

  it('is limited on one channel are served by the next', async () => {
    const upstream = answering((sent, index) => (index === 1 ? error(429) : geminiReply(sent)));
    const gateway = embedGateway({ dialect: 'gemini', upstream, channels: 2 });

    const { status } = await gateway.call(some);
    const record = await gateway.nextRecord();

    expect(status).toBe(200);
    expect(record).toMatchObject({ chargeNanos: 750n, outcome: 'complete' });
    expect(record.attempts.map(({ mayHaveRun }) => mayHaveRun)).toEqual([true, true]);
  });
});

describe('a channel that takes one input at a time', () => {
  const capabilities = { embeddingBatch: 1 };
  const content = (index: number) => ({ content: { parts: [{ text: `text ${index}` }] } });
  const requests = (count: number) => Array.from({ length: count }, (_, index) => content(index));
  const upstream = () =>
    answering(({ body }) => ({
      chunks: [
        JSON.stringify({
          data: [{ index: 0, embedding: base64Of([Number(body.input[0].split(' ')[1])]) }],
          usage: { prompt_tokens: 1 },
        }),
      ],
    }));

  it('gets up to 32 requests', async () => {
    const { call } = embedGateway({ dialect: 'openai', capabilities, upstream: upstream() });

    const { text } = await call(nativeCall('batchEmbedContents', { requests: requests(32) }));

    expect(
      JSON.parse(text).embeddings.map(({ values }: { values: readonly number[] }) => values[0]),
    ).toEqual(requests(32).map((_, index) => index));
  });

  it('refuses more, and says how many it takes', async () => {
    const sent = upstream();
    const { call } = embedGateway({ dialect: 'openai', capabilities, upstream: sent });

    const { status, text } = await call(
      nativeCall('batchEmbedContents', { requests: requests(33) }),
    );

    expect(status).toBe(400);
    expect(text).toContain('`requests` has 33 inputs, and this model takes at most 32');
    expect(sent.sent).toHaveLength(0);
  });
});
