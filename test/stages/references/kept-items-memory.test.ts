// suite: slow
/**
 * Items that take the place of references count as a part of the request's body: they share its
 * budget, however the call is served and however it ends.
 */
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import type { ItemStore } from '../../../src/ports/replies/item-store.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { drawn } from '../../support/seeds.ts';
import { errorIn, regional, responsesGateway } from './responses-gateway.ts';

const itemBytes = 10_000;
const budgetBytes = 400_000;

/** A store that has every item, and records the ids of each request. */
function endlessItems(requests: (readonly string[])[]): ItemStore {
  return {
    put: () => [],
    get: (_owner, ids) => {
      requests.push(ids);
      return ids.map(itemNamed);
    },
    forget: () => {},
  };
}

function itemNamed(id: string): Uint8Array {
  const item = {
    id,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: '', annotations: [] }],
  };
  const missing = itemBytes - JSON.stringify(item).length;
  const content = [{ type: 'output_text', text: 'x'.repeat(missing), annotations: [] }];
  return Buffer.from(JSON.stringify({ ...item, content }));
}

const upstreams = {
  relayed: regional('eu'),
  chat: regional('chat', { capabilities: { responses: false } }),
  gemini: regional('gemini', { dialect: 'gemini', baseUrl: 'https://gemini.example/v1beta' }),
  anthropic: regional('claude', {
    dialect: 'anthropic',
    baseUrl: 'https://anthropic.example/v1',
    upstreamModel: 'claude-opus-5',
  }),
} as const;
type UpstreamName = keyof typeof upstreams;

interface Setup {
  readonly price?: Model['price'];
  readonly options?: Partial<GatewayOptions>;
}

/** A gateway whose upstream answers when the test says so. */
function waiting(name: UpstreamName, setup: Setup = {}) {
  const requests: (readonly string[])[] = [];
  const arrived: DrivenCall[] = [];
  const gateway = responsesGateway({
    channels: [upstreams[name]],
    model: { price: setup.price ?? { per: 'free' } },
    upstream: (call) => arrived.push(call),
    options: {
      maxBufferedBytes: budgetBytes,
      maxBodyBytes: budgetBytes,
      maxImageBodyBytes: budgetBytes,
      responses: { items: endlessItems(requests) },
      ...setup.options,
    },
  });
  return { ...gateway, requests, arrived };
}

/** The input with this many references to one item. */
function references(count: number, id = 'msg_tg_0'): { readonly input: readonly object[] } {
  const repeated = Array.from({ length: count }, () => ({ type: 'item_reference', id }));
  return { input: [...repeated, { role: 'user', content: 'go' }] };
}

/** Waits until nothing moves: all calls have been refused or have reached the upstream. */
async function settled(calls: readonly Promise<CallerReply>[], arrived: readonly DrivenCall[]) {
  const refused: CallerReply[] = [];
  for (const call of calls) call.then((reply) => refused.push(reply));
  while (refused.length + arrived.length < calls.length) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  return refused;
}

const refusal = { error: { message: 'no' } };
const names: readonly UpstreamName[] = ['relayed', 'chat', 'gemini', 'anthropic'];

describe('the bytes of items in place of references', () => {
  it.each(names)('count until the call is done: %s', async (name) => {
    const gateway = waiting(name);
    const { arrived } = gateway;

    const calls = Array.from({ length: 30 }, () => gateway.ask(references(8)));
    const refused = await settled(calls, arrived);

    const sentBytes = arrived.map(({ request }) => Buffer.concat(request.body).length);
    expect(arrived.length).toBeGreaterThan(0);
    expect(Math.min(...sentBytes)).toBeGreaterThan(7 * itemBytes);
    expect(sentBytes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(budgetBytes);
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    expect(refused.map((reply) => errorIn(reply).code)).toContain('overloaded');

    for (const call of arrived.splice(0)) call.answer(400, refusal);
    await Promise.all(calls);
    const again = gateway.ask(references(8));
    expect(await settled([again], arrived)).toEqual([]);
  });

  it('are those of each item as often as it is named, though the store is asked once', async () => {
    const gateway = waiting('relayed');

    const call = gateway.ask(references(5));
    expect(await settled([call], gateway.arrived)).toEqual([]);

    expect(gateway.requests).toEqual([['msg_tg_0']]);
    const sent = JSON.parse(gateway.sent()[0] ?? '').input;
    expect(sent).toHaveLength(6);
    expect(new Set(sent.slice(0, 5).map((item: unknown) => JSON.stringify(item))).size).toBe(1);
  });

  it('are given back by calls that are refused after the store was asked', async () => {
    const gateway = waiting('relayed', {
      options: { guard: { check: () => ({ refuse: 'no' }) } },
    });

    for (let call = 0; call < 20; call += 1) {
      expect((await gateway.ask(references(30))).status).toBe(400);
    }
  });
});

it.each(names)('items are held for as if they had been sent whole: %s', async (name) => {
  const held = async (input: readonly object[]): Promise<number> => {
    const gateway = waiting(name, {
      price: { per: 'token', rates: { input: 1_000_000_000n, output: 0n } },
    });
    const call = gateway.ask({ input });
    await settled([call], gateway.arrived);
    const { held: nanos } = await gateway.state('k1');
    gateway.arrived[0]?.answer(400, refusal);
    await call;
    return Number(nanos);
  };
  const { input } = references(8);
  const whole = input.map((item) =>
    'id' in item ? JSON.parse(Buffer.from(itemNamed('msg_tg_0')).toString()) : item,
  );

  const asReferences = await held(input);
  const asItems = await held(whole);

  expect(asReferences).toBeGreaterThan(asItems * 0.95);
  expect(asReferences).toBeLessThan(asItems * 1.05);
});

describe('whatever is referred to, in whatever order calls come and end', () => {
  it.each([1, 2, 3, 4])('no more is sent than the budget has; seed %i', async (seed) => {
    const below = drawn(seed);
    const name = names[below(names.length)] ?? 'relayed';
    const gateway = waiting(name);
    const running: DrivenCall[] = [];
    const started: Promise<CallerReply>[] = [];

    for (let step = 0; step < 60; step += 1) {
      const call = running.splice(below(running.length), below(3) === 0 ? 1 : 0)[0];
      if (call !== undefined) {
        call.answer(400, refusal);
        await started[gateway.arrived.indexOf(call)];
      }
      const before = gateway.arrived.length;
      const next = gateway.ask(references(1 + below(20), `msg_tg_${below(3)}`));
      let isRefused = false;
      next.then(() => {
        isRefused = true;
      });
      while (!isRefused && gateway.arrived.length === before) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      const arrived = gateway.arrived[before];
      if (arrived !== undefined) {
        running.push(arrived);
        started[before] = next;
      }
      const bytes = running.flatMap(({ request }) => request.body.map(({ length }) => length));
      expect(bytes.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(budgetBytes);
    }
    for (const call of running) call.answer(400, refusal);
    await Promise.all(started);
    // A body that is alone may use all of it.
    const last = gateway.ask(references(39));
    const count = gateway.arrived.length;
    while (gateway.arrived.length === count) await new Promise((resolve) => setImmediate(resolve));
    gateway.arrived.at(-1)?.answer(400, refusal);
    expect((await last).status).toBe(400);
  });
});
