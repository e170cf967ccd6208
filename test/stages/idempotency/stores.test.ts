// suite: slow
/**
 * The stores behind `Idempotency-Key`: if they are down, slow or answer garbage, nothing runs twice
 * and every caller gets its reply; and what they are given is neither a key nor a body.
 */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import { StoreUnavailable } from '../../../src/ports/call-options.ts';
import type { ClaimInput } from '../../../src/ports/replies/idempotency-store.ts';
import { memoryIdempotencyStore } from '../../../src/stores/memory/idempotency-store.ts';
import { memoryResultStore } from '../../../src/stores/memory/result-store.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { gatewayInProcess, untouched } from '../../support/gateway-in-process.ts';
import { completeReply, image, replies, sampleRequests } from '../../support/models.ts';
import { failures, inTime, turns, untyped } from '../ports/failing.ts';
import { codeOf, costs, keyed, keyedKinds, sharedStores } from './idempotent-calls.ts';

describe.each(failures)('a store that $how', ({ fail }) => {
  it.each(keyedKinds)('at claim lets nothing run: %s', async (kind) => {
    const abandoned: string[] = [];
    const stores = sharedStores();
    const { call, clock, upstream, state, events } = gatewayInProcess({
      options: {
        idempotency: {
          ...stores.options.idempotency,
          claim: fail,
          abandon: ({ name }) => {
            abandoned.push(name);
            return { status: 'gone' };
          },
        },
      },
    });

    const reply = await inTime(clock, call(keyed(sampleRequests[kind])));

    expect([reply.status, codeOf(reply.text)]).toEqual([503, 'store_unavailable']);
    expect(reply.headers['retry-after']).toBe('1');
    expect(upstream.calls).toEqual([]);
    expect(await state()).toEqual(untouched);
    expect(abandoned).toHaveLength(1);
    expect(events).toEqual([
      expect.objectContaining({ type: 'port_failed', port: 'idempotency', operation: 'claim' }),
    ]);
  });

  it.each(keyedKinds)('at finish withholds no reply, and runs nothing twice: %s', async (kind) => {
    const clock = fakeClock();
    const idempotency = { ...memoryIdempotencyStore({ clock }), finish: fail };
    const { start, call, upstream, state, events } = gatewayInProcess({
      options: { idempotency, clock },
    });
    const [first, second] = [
      start(keyed(sampleRequests[kind])),
      start(keyed(sampleRequests[kind])),
    ];
    const up = await upstream.next();
    await turns();

    completeReply(kind)(up);
    const answers = [await first.reply, await second.reply];
    await inTime(clock, turns());
    clock.advance(10_000);
    await turns();
    clock.advance(960_000);
    const late = await call(keyed(sampleRequests[kind]));

    expect(answers.map(({ text }) => text)).toEqual([replies[kind], replies[kind]]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'port_failed', port: 'idempotency', operation: 'finish' }),
    );
    expect(late.status).toBe(502);
    expect(late.headers['x-should-retry']).toBe('false');
    expect(upstream.calls).toHaveLength(1);
    expect(await state()).toEqual({ held: 0n, used: costs[kind], inFlight: 0 });
  });

  it('at finish does not keep a 5xx', async () => {
    const clock = fakeClock();
    const { call, events } = gatewayInProcess({
      handlers: [(up) => up.answer(500, {})],
      options: { clock, idempotency: { ...memoryIdempotencyStore({ clock }), finish: fail } },
    });

    const reply = await inTime(clock, call(keyed(sampleRequests.image)));

    expect(reply.status).toBe(502);
    expect(events).toContainEqual(expect.objectContaining({ operation: 'finish' }));
  });

  it('at abandon makes the key unusable, and affects nothing else', async () => {
    const clock = fakeClock();
    const { call, upstream, events } = gatewayInProcess({
      handlers: [(up) => up.answer(429, { error: { message: 'No.' } }), completeReply('chat')],
      options: { clock, idempotency: { ...memoryIdempotencyStore({ clock }), abandon: fail } },
    });

    const refused = await inTime(clock, call(keyed(sampleRequests.chat)));
    clock.advance(960_000);
    const burnt = await call(keyed(sampleRequests.chat));
    const fresh = await call(keyed(sampleRequests.chat, 'k2'));

    expect([refused.status, burnt.status, fresh.status]).toEqual([429, 502, 200]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'port_failed', port: 'idempotency', operation: 'abandon' }),
    );
    expect(upstream.calls).toHaveLength(2);
  });

  it('at storing a reply keeps no caller from it, but it can’t be repeated later', async () => {
    const clock = fakeClock();
    const { call, upstream, events } = gatewayInProcess({
      handlers: [completeReply('image')],
      options: { clock, results: { ...memoryResultStore({ clock }), put: fail } },
    });

    const first = await call(keyed(sampleRequests.image));
    const second = await call(keyed(sampleRequests.image));
    await turns();
    clock.advance(10_000);
    await turns();
    const third = await call(keyed(sampleRequests.image));

    // A caller that repeats the call while the reply is being stored still gets it.
    expect([first.text, second.text]).toEqual([
      replies.image,
      second.status === 200 ? replies.image : second.text,
    ]);
    expect([third.status, codeOf(third.text)]).toEqual([409, 'result_expired']);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'port_failed', port: 'results', operation: 'put' }),
    );
    expect(upstream.calls).toHaveLength(1);
  });

  it('at reading a reply is asked again later', async () => {
    const clock = fakeClock();
    const results = memoryResultStore({ clock });
    let get: typeof results.get = fail;
    const { call, upstream } = gatewayInProcess({
      handlers: [completeReply('image')],
      options: { clock, results: { ...results, get: (...args) => get(...args) } },
    });
    await call(keyed(sampleRequests.image));
    await turns();

    const failed = await inTime(clock, call(keyed(sampleRequests.image)));
    get = results.get;

    expect(failed.status).toBe(503);
    expect((await call(keyed(sampleRequests.image))).text).toBe(replies.image);
    expect(upstream.calls).toHaveLength(1);
  });
});

it('a claim whose answer was lost is abandoned', async () => {
  const idempotency = memoryIdempotencyStore();
  let isLost = true;
  const { call } = gatewayInProcess({
    handlers: [completeReply('chat')],
    options: {
      idempotency: {
        ...idempotency,
        claim: (input) => {
          const result = idempotency.claim(input);
          if (!isLost) return result;
          throw new StoreUnavailable('the answer was lost');
        },
      },
    },
  });
  expect((await call(keyed(sampleRequests.chat))).status).toBe(503);
  isLost = false;

  expect((await call(keyed(sampleRequests.chat))).text).toBe(replies.chat);
});

it('fifty callers that wait for a claim which fails get the error immediately', async () => {
  const { start, clock, events } = gatewayInProcess({
    options: {
      idempotency: { ...memoryIdempotencyStore(), claim: () => new Promise(() => {}) },
    },
  });
  const callings = Array.from({ length: 50 }, () => start(keyed(sampleRequests.chat)).reply);
  await turns();

  clock.advance(1_000);
  const replies = await Promise.all(callings);

  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([503]));
  expect(events).toHaveLength(1);
});

describe('a store that violates its contract is treated as one that is down', () => {
  const record = { state: 'done', fingerprint: 'f', claimId: 'c', requestId: 'r', status: 200 };
  const garbage: readonly unknown[] = [
    undefined,
    null,
    'claimed',
    {},
    { status: 'free' },
    { status: 'taken' },
    { status: 'taken', record: null },
    { status: 'taken', record: { ...record, state: 'absent' } },
    { status: 'taken', record: { ...record, fingerprint: undefined } },
    { status: 'taken', record: { ...record, claimId: 7 } },
    { status: 'taken', record: { ...record, requestId: '' } },
    { status: 'taken', record: { ...record, requestId: 'r\r\nset-cookie: a=b' } },
  ];

  it.each(garbage.map((answer) => [answer]))('a claim of %j', async (answer) => {
    const idempotency = { ...memoryIdempotencyStore(), claim: untyped(answer) };
    const { call, upstream } = gatewayInProcess({ options: { idempotency } });

    expect((await call(keyed(sampleRequests.chat))).status).toBe(503);
    expect(upstream.calls).toEqual([]);
  });

  const body = Buffer.from('{}');
  const results: readonly (readonly [unknown, status: number])[] = [
    [undefined, 409],
    [null, 409],
    ['{}', 503],
    [{ body: '{}', headers: {} }, 503],
    [{ body }, 503],
    [{ body, headers: { 'x-note': 'a\r\nset-cookie: b=c' } }, 503],
    [{ body, headers: { 'x-note': 5 } }, 503],
    [{ body, headers: {} }, 200],
  ];

  it.each(results)('a reply of %j: %d', async (answer, status) => {
    const { call } = gatewayInProcess({
      handlers: [completeReply('chat')],
      options: { results: { put: () => {}, get: untyped(answer) } },
    });
    await call(keyed(sampleRequests.chat));
    await turns();

    expect((await call(keyed(sampleRequests.chat))).status).toBe(status);
  });
});

describe('the stores are given', () => {
  const canaries = ['key-canary', 'prompt-canary', 'Y2FuYXJ5'];
  const request = keyed(image({ prompt: 'prompt-canary' }), 'key-canary');
  const reply = JSON.stringify({ data: [{ b64_json: 'Y2FuYXJ5' }] });

  it('digests, ids and times for a claim', async () => {
    const reported: unknown[] = [];
    const store = memoryIdempotencyStore();
    const recorded = <T>(input: T): T => {
      reported.push(input);
      return input;
    };
    const { call, events } = gatewayInProcess({
      handlers: [(up) => up.answer(200, reply), (up) => up.answer(429, {})],
      options: {
        idempotency: {
          claim: (input) => store.claim(recorded(input)),
          finish: (input) => store.finish(recorded(input)),
          abandon: (input) => store.abandon(recorded(input)),
        },
      },
    });

    await call(request);
    await call(keyed(image({ prompt: 'prompt-canary' }), 'key-canary-2'));
    await turns();

    expect(reported).toHaveLength(4);
    expect(reported[0]).toEqual({
      name: expect.stringMatching(/^[0-9a-f]{64}$/),
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      keyId: 'caller',
      operation: 'images',
      claimId: expect.stringMatching(/^[\w-]{16,64}$/),
      requestId: expect.any(String),
      leaseMs: 960_000,
      keepMs: 86_400_000,
      ifTaken: 'answer',
    });
    const text = inspect([reported, events], { depth: 9 });
    for (const canary of canaries) expect(text).not.toContain(canary);
  });

  it('the bytes and headers of a reply, under a different name for each run', async () => {
    const names: string[] = [];
    const results = memoryResultStore();
    const { call, clock } = gatewayInProcess({
      handlers: [(up) => up.answer(200, reply), (up) => up.answer(200, reply)],
      options: {
        results: {
          ...results,
          put: (name, result) => {
            names.push(name);
            expect(result).toEqual({
              headers: { 'content-type': 'application/json' },
              body: expect.any(Uint8Array),
            });
            return results.put(name, result);
          },
        },
      },
    });

    await call(request);
    await turns();
    clock.advance(86_400_000);
    await call(request);
    await turns();

    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^[0-9a-f]{64}\.[\w-]{16,64}$/);
  });

  it('a lease as long as the slowest channel may take, plus a minute', async () => {
    const claims: ClaimInput[] = [];
    const store = memoryIdempotencyStore();
    const options: Partial<GatewayOptions> = {
      timeouts: { totalMs: 30_000 },
      idempotency: {
        ...store,
        claim: (input) => {
          claims.push(input);
          return store.claim(input);
        },
      },
    };
    const { call } = gatewayInProcess({ handlers: [completeReply('chat')], options });

    await call(keyed(sampleRequests.chat));

    expect(claims.map(({ leaseMs }) => leaseMs)).toEqual([90_000]);
  });
});

it('many keys leave as many records as fit into the store, and no more', async () => {
  const idempotency = memoryIdempotencyStore({ maxRecords: 50 });
  const { start, call, upstream } = gatewayInProcess({ options: { idempotency } });
  const running = start(keyed(sampleRequests.chat, 'running'));
  const first = await upstream.next();
  for (let count = 0; count < 500; count += 1) {
    const calling = start(keyed(sampleRequests.chat, `key-${count}`));
    completeReply('chat')(await upstream.next());
    await calling.reply;
  }
  await turns();

  completeReply('chat')(first);
  await running.reply;
  await turns();

  expect((await call(keyed(sampleRequests.chat, 'running'))).headers['idempotent-replayed']).toBe(
    'true',
  );
  expect((await call(keyed(sampleRequests.chat, 'key-499'))).headers['idempotent-replayed']).toBe(
    'true',
  );
  const forgotten = start(keyed(sampleRequests.chat, 'key-0'));
  completeReply('chat')(await upstream.next());
  expect((await forgotten.reply).headers).not.toHaveProperty('idempotent-replayed');
});
