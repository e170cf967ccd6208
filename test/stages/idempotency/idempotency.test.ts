// suite: slow
/**
 * `Idempotency-Key`: a call runs once under its key and is charged once, however often it is
 * repeated.
 */
import { describe, expect, it } from 'vitest';
import { defaultPartition } from '../../../src/ports/limits/quota-input.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import { ampleNanos, gatewayInProcess, untouched } from '../../support/gateway-in-process.ts';
import {
  chat,
  completeReply,
  image,
  model,
  replies,
  sampleRequests,
} from '../../support/models.ts';
import { pass, turns } from '../ports/failing.ts';
import { codeOf, costs, keyed, keyedKinds } from './idempotent-calls.ts';

describe.each(keyedKinds)('%s with an Idempotency-Key', (kind) => {
  it('runs once, and its reply is replayed byte for byte', async () => {
    const { call, upstream, state, records } = gatewayInProcess({
      handlers: [completeReply(kind)],
    });
    const first = await call(keyed(sampleRequests[kind]));
    await turns();

    const second = await call(keyed(sampleRequests[kind]));

    expect(first).toMatchObject({ status: 200, text: replies[kind] });
    expect(first.headers).not.toHaveProperty('idempotent-replayed');
    expect(second).toMatchObject({ status: 200, text: first.text });
    expect(second.headers).toEqual({
      ...first.headers,
      'x-request-id': second.headers['x-request-id'],
      'idempotent-replayed': 'true',
      'original-request': first.headers['x-request-id'],
    });
    expect(second.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(upstream.calls).toHaveLength(1);
    expect(records).toHaveLength(1);
    expect(await state()).toEqual({ held: 0n, used: costs[kind], inFlight: 0 });
  });

  it('runs once for fifty concurrent callers, and for one that comes while it runs', async () => {
    const { start, upstream, state, records } = gatewayInProcess();
    const callings = Array.from({ length: 50 }, () => start(keyed(sampleRequests[kind])));
    const up = await upstream.next();
    callings.push(start(keyed(sampleRequests[kind])));
    await turns();
    expect(await state()).toMatchObject({ inFlight: 1 });

    completeReply(kind)(up);
    const answers = await Promise.all(callings.map(({ reply }) => reply));

    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set([`200 ${replies[kind]}`]),
    );
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(51);
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'])).toHaveLength(50);
    expect(upstream.calls).toHaveLength(1);
    expect(records).toHaveLength(1);
    expect(await state()).toEqual({ held: 0n, used: costs[kind], inFlight: 0 });
  });

  it('is refused under a key that was sent with another body, immediately and later', async () => {
    const { start, call, upstream, state } = gatewayInProcess();
    const first = start(keyed(sampleRequests[kind]));
    const up = await upstream.next();
    const other = kind === 'chat' ? chat({ n: 2 }) : image({ n: 2 });

    const whileRunning = await call(keyed(other));
    completeReply(kind)(up);
    await first.reply;
    await turns();
    const after = await call(keyed(other));

    for (const { status, text, headers } of [whileRunning, after]) {
      expect([status, codeOf(text)]).toEqual([422, 'idempotency_mismatch']);
      expect(headers).not.toHaveProperty('original-request');
    }
    expect(upstream.calls).toHaveLength(1);
    expect(await state()).toEqual({ held: 0n, used: costs[kind], inFlight: 0 });
  });

  it('that is repeated a day later runs again', async () => {
    const { call, clock, upstream } = gatewayInProcess({
      handlers: [completeReply(kind), completeReply(kind)],
    });
    await call(keyed(sampleRequests[kind]));
    await turns();

    clock.advance(24 * 3_600_000 - 1);
    expect(codeOf((await call(keyed(sampleRequests[kind]))).text)).toBe('result_expired');
    clock.advance(1);

    expect((await call(keyed(sampleRequests[kind]))).text).toBe(replies[kind]);
    expect(upstream.calls).toHaveLength(2);
  });

  it('whose reply is no longer kept is refused with the first request’s id', async () => {
    const { call, clock, upstream } = gatewayInProcess({ handlers: [completeReply(kind)] });
    const first = await call(keyed(sampleRequests[kind]));
    await turns();
    clock.advance(30 * 60_000);

    const { status, text, headers } = await call(keyed(sampleRequests[kind]));

    expect([status, codeOf(text)]).toEqual([409, 'result_expired']);
    expect(headers).toMatchObject({
      'original-request': first.headers['x-request-id'],
      'x-should-retry': 'false',
    });
    expect(headers).not.toHaveProperty('retry-after');
    expect(upstream.calls).toHaveLength(1);
  });

  it('is remembered across updates of the options', async () => {
    const { call, gateway, upstream } = gatewayInProcess({ handlers: [completeReply(kind)] });
    await call(keyed(sampleRequests[kind]));
    await turns();

    gateway.update({ maxBodyBytes: 1_000_000 });

    expect((await call(keyed(sampleRequests[kind]))).headers['idempotent-replayed']).toBe('true');
    expect(upstream.calls).toHaveLength(1);
  });
});

describe('a key identifies a call', () => {
  it.each([
    ['"k-1"', 'k-1'],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['k-1', '"k-1"'],
    ['x'.repeat(255), `"${'x'.repeat(255)}"`],
  ])('%s is the same as %s', async (one, other) => {
    const { call, upstream } = gatewayInProcess({ handlers: [completeReply('chat')] });

    await call(keyed(sampleRequests.chat, one));
    await turns();

    expect((await call(keyed(sampleRequests.chat, other))).headers['idempotent-replayed']).toBe(
      'true',
    );
    expect(upstream.calls).toHaveLength(1);
  });

  it.each([
    ['k-1', 'K-1'],
    ['k', 'kk'],
    ['k', "'k'"],
  ])('%s is not the same as %s', async (one, other) => {
    const { call, upstream } = gatewayInProcess({
      handlers: [completeReply('chat'), completeReply('chat')],
    });

    await call(keyed(sampleRequests.chat, one));
    await turns();

    expect((await call(keyed(sampleRequests.chat, other))).headers).not.toHaveProperty(
      'idempotent-replayed',
    );
    expect(upstream.calls).toHaveLength(2);
  });

  it('of one caller and of one route', async () => {
    const secrets = ['caller-secret', 'other-secret'];
    const key = (id: string) => ({
      id,
      group: 'staff',
      disabled: false,
      quota: [{ id, period: 'total', limitNanos: ampleNanos } as const],
    });
    const { call, upstream } = gatewayInProcess({
      handlers: [completeReply('chat'), completeReply('chat'), completeReply('image')],
      options: { keys: { find: (secret) => key(`key-${secrets.indexOf(secret)}`) } },
    });
    await call(keyed(sampleRequests.chat));
    await turns();

    const others = [
      await call(keyed(sampleRequests.chat, 'k1', { authorization: 'Bearer other-secret' })),
      await call(keyed(sampleRequests.image)),
    ];

    expect(others.map(({ text }) => text)).toEqual([replies.chat, replies.image]);
    for (const { headers } of others) expect(headers).not.toHaveProperty('idempotent-replayed');
    expect(upstream.calls).toHaveLength(3);
  });

  it.each([
    '',
    ' ',
    'a b',
    'ü',
    'a\u0007',
    '"',
    '""',
    '"a',
    '"a"b',
    '"a\\b"',
    '"a";p=1',
    'x'.repeat(256),
    `"${'x'.repeat(256)}"`,
  ])('and %j is refused', async (key) => {
    const { call, upstream, state } = gatewayInProcess();

    const { status, text } = await call(keyed(sampleRequests.image, key));

    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({
      type: 'invalid_request_error',
      param: 'idempotency-key',
      message: expect.stringMatching(/Idempotency-Key/),
    });
    expect(upstream.calls).toEqual([]);
    expect(await state()).toEqual(untouched);
  });

  it('and two keys are refused, even if they are equal', async () => {
    const { gateway, upstream } = gatewayInProcess();
    const headers = { authorization: 'Bearer caller-secret', 'idempotency-key': 'k1, k1' };

    const { status } = await gateway.handle({
      method: 'POST',
      path: sampleRequests.image.path,
      search: '',
      headers,
      rawHeaders: [
        ...['authorization', 'Bearer caller-secret'],
        ...['Idempotency-Key', 'k1', 'idempotency-key', 'k1'],
      ],
      body: Buffer.from(JSON.stringify(sampleRequests.image.body)),
      onClose: () => {},
    });

    expect(status).toBe(400);
    expect(upstream.calls).toEqual([]);
  });
});

describe('a key is ignored', () => {
  it.each(['chatStream', 'native', 'nativeStream'] as const)('for %s', async (kind) => {
    const { call, upstream, state } = gatewayInProcess({
      handlers: [completeReply(kind), completeReply(kind)],
    });

    const first = await call(keyed(sampleRequests[kind], 'no key at all'));
    const second = await call(keyed(sampleRequests[kind], 'no key at all'));

    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.headers).not.toHaveProperty('idempotent-replayed');
    expect(upstream.calls).toHaveLength(2);
    expect(await state()).toMatchObject({ used: 40n });
  });
});

describe('a call that certainly did not run leaves its key free', () => {
  it('for lack of quota', async () => {
    const { call, quota } = gatewayInProcess({
      handlers: [completeReply('chat')],
      key: { quota: poorQuota },
    });
    expect((await call(keyed(sampleRequests.chat))).status).toBe(403);

    await addLimit(ampleNanos, quota);
    const served = await call(keyed(sampleRequests.chat));

    expect(served.text).toBe(replies.chat);
    expect(served.headers).not.toHaveProperty('idempotent-replayed');
  });

  it.each(keyedKinds)('because every channel refused it: %s', async (kind) => {
    const { call, state } = gatewayInProcess({
      handlers: [(up) => up.answer(429, { error: { message: 'Slow down.' } }), completeReply(kind)],
    });
    const refused = await call(keyed(sampleRequests[kind]));
    expect(refused.status).toBe(429);

    const served = await call(keyed(sampleRequests[kind]));

    expect(served.text).toBe(replies[kind]);
    expect(await state()).toEqual({ held: 0n, used: costs[kind], inFlight: 0 });
  });

  it('because the upstream found it invalid', async () => {
    const { call } = gatewayInProcess({
      handlers: [(up) => up.answer(400, { error: { message: 'No.' } }), completeReply('chat')],
    });
    expect((await call(keyed(sampleRequests.chat))).status).toBe(400);

    expect((await call(keyed(sampleRequests.chat))).text).toBe(replies.chat);
  });

  it('and one of the waiting callers runs it', async () => {
    const { start, upstream, state } = gatewayInProcess();
    const callings = Array.from({ length: 3 }, () => start(keyed(sampleRequests.chat)));
    const up = await upstream.next();
    await turns();

    up.answer(429, { error: { message: 'Slow down.' } });
    completeReply('chat')(await upstream.next());

    const replies = await Promise.all(callings.map(({ reply }) => reply));
    expect(replies.map(({ status }) => status)).toEqual([429, 200, 200]);
    expect(upstream.calls).toHaveLength(2);
    expect(await state()).toEqual({ held: 0n, used: 20n, inFlight: 0 });
  });

  it('and one that fails validation does not use it', async () => {
    const { call } = gatewayInProcess({ handlers: [completeReply('chat')] });
    expect((await call(keyed(chat({ model: 'none' })))).status).toBe(404);
    expect((await call(keyed(chat({ n: 'x' })))).status).toBe(400);

    expect((await call(keyed(sampleRequests.chat))).text).toBe(replies.chat);
  });
});

it('a replayed reply repeats the note of what a translation left out', async () => {
  const anthropic = model().channels.map((channel) => ({
    ...channel,
    dialect: 'anthropic' as const,
  }));
  const { call } = gatewayInProcess({
    models: [model({ channels: anthropic })],
    handlers: [(up) => up.answer(200, anthropicReply)],
  });
  const request = keyed(chat({ seed: 7 }));
  const first = await call(request);
  await turns();

  const second = await call(request);

  expect(first.headers['x-tollgate-dropped']).toBe('seed');
  expect(second.headers['x-tollgate-dropped']).toBe('seed');
  expect(second.text).toBe(first.text);
});

it('a replay needs no quota, and reserves none', async () => {
  const { call, quota } = gatewayInProcess({
    handlers: [completeReply('chat')],
    key: { quota: enoughForOne },
  });
  await call(keyed(sampleRequests.chat));
  await turns();
  await addLimit(-300n, quota);

  expect((await call(keyed(sampleRequests.chat))).status).toBe(200);
  expect((await call(keyed(sampleRequests.chat, 'k2'))).status).toBe(403);
});

it('a record is kept from its end, however long the call ran', async () => {
  const { start, call, clock, upstream } = gatewayInProcess();
  const first = start(keyed(sampleRequests.chat));
  const up = await upstream.next();
  await pass(clock, 200_000);
  completeReply('chat')(up);
  await first.reply;
  await turns();

  clock.advance(30 * 60_000 - 1);

  expect((await call(keyed(sampleRequests.chat))).headers['idempotent-replayed']).toBe('true');
});

const poorQuota = [{ id: 'poor', period: 'total', limitNanos: 10n }] as const;
const enoughForOne = [{ id: 'poor', period: 'total', limitNanos: 300n }] as const;

async function addLimit(nanos: bigint, quota: QuotaStore): Promise<void> {
  const row = { partition: defaultPartition, subject: 'poor', period: '' };
  await quota.adjust({ id: 'adjustment-of-the-test', ...row, addLimit: nanos });
}

const anthropicReply = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hi!' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
};
