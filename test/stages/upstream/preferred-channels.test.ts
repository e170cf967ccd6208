// suite: slow
/** Models that prefer a channel, in a gateway: what is measured, of which calls, and since when. */
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { tokenPrice } from '../../../src/prices/codec.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type CallerRequest,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { channel, headersOf, model, replies, sampleRequests } from '../../support/models.ts';
import { numbers } from '../../support/seeds.ts';

/** What each upstream does with a call: it answers after this time, or with this status at once. */
type Conduct = { readonly afterMs: number } | { readonly status: number };

interface Measured {
  readonly harness: InProcessGateway;
  /** The upstreams of these calls, one after the other. */
  visits(calls: number, request?: CallerRequest): Promise<string>;
}

/** Channels a, b, … of one priority, whose conduct the test may change at any time. */
function preferring(
  prefer: 'cost' | 'latency',
  conducts: Record<string, Conduct>,
  change: (id: string) => Partial<Channel> = () => ({}),
  setup: GatewaySetup = {},
): Measured {
  const handle: CallHandler = (up) => {
    const id = new URL(up.request.origin).hostname.slice(0, 1);
    const conduct = conducts[id] ?? { afterMs: 1 };
    if ('status' in conduct) return up.answer(conduct.status, { error: { message: 'No.' } });
    harness.clock.advance(conduct.afterMs);
    const kind = String(up.request.body).includes('"stream":true') ? 'chatStream' : 'chat';
    up.answer(200, replies[kind], headersOf(kind));
  };
  const channels = Object.keys(conducts).map((id) =>
    channel({ id, baseUrl: `https://${id}.example/v1`, ...change(id) }),
  );
  const harness: InProcessGateway = gatewayInProcess({
    handlers: new Array<CallHandler>(2_000).fill(handle),
    models: ['chat', 'other', 'any/*'].map((id) => model({ id, prefer, channels })),
    ...setup,
    options: { random: numbers(3), ...setup.options },
  });
  return {
    harness,
    visits: async (calls, request = sampleRequests.chat) => {
      const before = harness.upstream.calls.length;
      for (let call = 0; call < calls; call += 1) await harness.call(request);
      return harness.upstream.calls
        .slice(before)
        .map(({ request: { origin } }) => new URL(origin).hostname.slice(0, 1))
        .join('');
    },
  };
}

function share(visits: string, id: string): number {
  return [...visits].filter((one) => one === id).length / visits.length;
}

describe('a model that prefers latency', () => {
  it('tries each channel once, then uses the fastest, and still measures the others', async () => {
    const { visits } = preferring('latency', {
      a: { afterMs: 300 },
      b: { afterMs: 100 },
      c: { afterMs: 200 },
    });

    expect([...(await visits(3))].sort().join('')).toBe('abc');
    const later = await visits(400);

    expect(share(later, 'b')).toBeGreaterThan(0.85);
    expect(share(later, 'b')).toBeLessThan(0.99);
    expect(new Set(later)).toEqual(new Set(['a', 'b', 'c']));
  });

  it('follows the last 32 first bytes of each channel', async () => {
    const conducts: Record<string, Conduct> = { a: { afterMs: 100 }, b: { afterMs: 200 } };
    const { visits } = preferring('latency', conducts);
    expect(share(await visits(200), 'a')).toBeGreaterThan(0.85);

    conducts.a = { afterMs: 300 };
    const changed = await visits(100);

    // The median of 32 is above 200 once 17 of them are.
    const calls = [...changed]
      .map((id, index) => (id === 'a' ? index : -1))
      .filter((at) => at >= 0);
    expect(calls.slice(0, 16).at(-1)).toBeLessThan(30);
    expect(share(changed.slice(40), 'b')).toBeGreaterThan(0.85);
  });

  it('measures models and kinds of reply apart', async () => {
    const { visits } = preferring('latency', { a: { afterMs: 100 }, b: { afterMs: 200 } });
    await visits(40);

    const others = ['other', 'any/one', 'any/two'].map(chatWith);
    for (const request of [sampleRequests.chatStream, ...others]) {
      expect([...(await visits(2, request))].sort().join('')).toBe('ab');
      expect(share(await visits(40, request), 'a')).toBeGreaterThan(0.75);
    }
  });

  it('does not take an error for a fast answer, nor sends all calls to its channel', async () => {
    const { visits } = preferring('latency', { a: { status: 400 }, b: { afterMs: 100 } });

    const visited = await visits(200);

    expect(share(visited.slice(4), 'b')).toBeGreaterThan(0.85);
    expect(visited.slice(4)).toContain('a');
  });

  it('measures a channel over all accounts that its function names', async () => {
    let calls = 0;
    const credential = (): { secret: string; account: string } => {
      calls += 1;
      return { secret: `secret-${calls % 7}`, account: `user-${calls % 7}` };
    };
    const { visits } = preferring('latency', { a: { afterMs: 300 }, b: { afterMs: 100 } }, () => ({
      credential,
    }));
    await visits(10);

    expect(share(await visits(200), 'b')).toBeGreaterThan(0.85);
  });

  it('forgets what it has measured of a channel that is switched on', async () => {
    const conducts: Record<string, Conduct> = { a: { afterMs: 100 }, b: { afterMs: 200 } };
    const { visits, harness } = preferring('latency', conducts);
    await visits(100);

    harness.gateway.disableChannel('b');
    harness.gateway.enableChannel('b');
    conducts.b = { afterMs: 50 };

    expect(share(await visits(100), 'b')).toBeGreaterThan(0.85);
  });

  it('decides only between channels of the best priority', async () => {
    const conducts = { a: { afterMs: 300 }, b: { afterMs: 1 } };
    const { visits } = preferring('latency', conducts, (id) => ({ priority: id === 'a' ? 0 : 1 }));

    expect(new Set(await visits(50))).toEqual(new Set(['a']));
  });
});

describe('a model that prefers cost', () => {
  const output = (amount: string) => ({ cost: tokenPrice({ input: '1', output: amount }) });
  const costs: Readonly<Record<string, Partial<Channel>>> = {
    a: output('5'),
    b: output('4'),
    c: {},
    d: { cost: 'reported' },
  };
  const conducts = { a: { afterMs: 1 }, b: { afterMs: 1 }, c: { afterMs: 1 }, d: { afterMs: 1 } };

  it('uses the cheapest by three tokens of input and one of output', async () => {
    const { visits, harness } = preferring('cost', conducts, (id) => costs[id] ?? {});
    expect(new Set(await visits(50))).toEqual(new Set(['b']));

    harness.gateway.disableChannel('b');
    expect(new Set(await visits(50))).toEqual(new Set(['a']));

    harness.gateway.disableChannel('a');
    expect(new Set(await visits(50))).toEqual(new Set(['c', 'd']));
  });

  it('weighs input more than output', async () => {
    const prices = { a: { input: '2', output: '4' }, b: { input: '1', output: '6.9' } };
    const { visits } = preferring('cost', { a: { afterMs: 1 }, b: { afterMs: 1 } }, (id) => ({
      cost: tokenPrice(id === 'a' ? prices.a : prices.b),
    }));

    expect(new Set(await visits(50))).toEqual(new Set(['b']));
  });
});

function chatWith(id: string): CallerRequest {
  const body = { model: id, messages: [{ role: 'user', content: 'hi' }] };
  return { path: '/v1/chat/completions', body };
}
