/** Rate limits of keys, groups and models: what refuses, what callers are told, and when. */
import { describe, expect, it } from 'vitest';
import type { ApiKey } from '../../src/ports/key-store.ts';
import type { RateTake } from '../../src/ports/rate-limiter.ts';
import type { KeyRateLimits } from '../../src/ports/rates.ts';
import { memoryRateLimiter } from '../../src/stores/memory/rate-limiter.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import {
  type CallerReply,
  type CallerRequest,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../support/gateway-in-process.ts';
import {
  chat,
  completeReply,
  defaultModels,
  kinds,
  model,
  sampleRequests,
} from '../support/models.ts';
import { limitedGateway, rateHeadersOf } from './rate-limited.ts';

/** A chat reserves 11 tokens of input and 100 of output, and its reply uses 15. */
const reserved = 111;

function messageOf({ text }: CallerReply): string {
  return JSON.parse(text).error.message;
}

describe('a key with a limit of calls', () => {
  it('is refused above it, and granted after exactly the time in Retry-After', async () => {
    const { call, clock, upstream } = limitedGateway([{ calls: { perMinute: 2 } }]);
    await call(sampleRequests.chat);
    clock.advance(10_000);
    await call(sampleRequests.chat);

    const refused = await call(sampleRequests.chat);

    expect(refused.status).toBe(429);
    expect(JSON.parse(refused.text).error).toEqual({
      message:
        'Rate limit reached for this key: 2 calls per minute. ' +
        'Reduce concurrency and retry after the time in Retry-After.',
      type: 'rate_limit_error',
      param: null,
      code: 'rate_limit_exceeded',
    });
    expect(refused.headers).toMatchObject({ 'retry-after': '20', 'retry-after-ms': '20000' });
    expect(upstream.calls).toHaveLength(2);
    clock.advance(19_999);
    expect((await call(sampleRequests.chat)).status).toBe(429);
    clock.advance(1);
    expect((await call(sampleRequests.chat)).status).toBe(200);
  });

  it('has a limit for each period, of which each refuses', async () => {
    const { call, clock } = limitedGateway([{ calls: { perMinute: 1, perHour: 2, perDay: 3 } }]);
    const messages: string[] = [];
    for (const waitMs of [0, 60_000, 60_000, 7_200_000]) {
      clock.advance(waitMs);
      const reply = await call(sampleRequests.chat);
      messages.push(reply.status === 200 ? 'granted' : messageOf(reply));
      const second = await call(sampleRequests.chat);
      messages.push(/\d+ calls? per \w+/.exec(messageOf(second))?.[0] ?? 'none');
    }

    expect(messages.map((text) => /\d+ calls? per \w+/.exec(text)?.[0] ?? text)).toEqual([
      ...['granted', '1 call per minute'],
      ...['granted', '2 calls per hour'],
      ...['2 calls per hour', '2 calls per hour'],
      ...['granted', '3 calls per day'],
    ]);
  });

  it('has those of the gateway, if its record states none', async () => {
    const defaultRates = [{ calls: { perMinute: 1 } }];
    const statuses = async (key: Partial<ApiKey>): Promise<readonly number[]> => {
      const handlers = [completeReply('chat'), completeReply('chat')];
      const { call } = gatewayInProcess({ handlers, key, options: { defaultRates } });
      return [(await call(sampleRequests.chat)).status, (await call(sampleRequests.chat)).status];
    };

    expect(await statuses({})).toEqual([200, 429]);
    expect(await statuses({ rates: [{ calls: { perMinute: 5 } }] })).toEqual([200, 200]);
    expect(await statuses({ rates: [] })).toEqual([200, 200]);
  });

  it.each(kinds)('is refused in the form of its API: %s', async (kind) => {
    const { call } = gatewayInProcess({
      handlers: [completeReply(kind)],
      key: { rates: [{ calls: { perDay: 1 } }] },
    });
    await call(sampleRequests[kind]);

    const refused = await call(sampleRequests[kind]);

    const { error } = JSON.parse(refused.text);
    expect(refused.status).toBe(429);
    expect(kind.startsWith('native') ? error.status : error.code).toBe(
      kind.startsWith('native') ? 'RESOURCE_EXHAUSTED' : 'rate_limit_exceeded',
    );
    // An SDK that obeyed a wait of a day would sleep for a day.
    expect(refused.headers['x-should-retry']).toBe('false');
    expect(error.message).not.toMatch(/try again in/i);
  });
});

describe('a key with a limit of tokens', () => {
  const rates = [{ tokens: { perMinute: reserved + 15 } }];

  it('reserves the most that a call may use, and is charged what it used', async () => {
    const { call, start, upstream } = limitedGateway(rates, { handlers: [] });
    const first = start(sampleRequests.chat);
    const upstreamCall = await upstream.next();

    const during = await call(sampleRequests.chat);
    completeReply('chat')(upstreamCall);
    await first.reply;
    const second = start(sampleRequests.chat);
    completeReply('chat')(await upstream.next());

    expect(during.status).toBe(429);
    expect(messageOf(during)).toContain('this key: 126 tokens per minute');
    expect((await second.reply).status).toBe(200);
    expect((await call(sampleRequests.chat)).status).toBe(429);
  });

  it.each([
    ['max_tokens', chat({ max_tokens: 20 }), 31],
    ['max_completion_tokens', chat({ max_completion_tokens: 7 }), 18],
    ['max_tokens above the model’s own', chat({ max_tokens: 5_000 }), 111],
    ['n', chat({ max_tokens: 20, n: 3 }), 71],
    ['no limit, on a model without one', chat({ model: 'open' }), 1_035],
  ])('reserves by %s', async (_what, request, tokens) => {
    const spied = await spiedTakes([{ tokens: { perMinute: 10_000 } }], request);

    expect(spied).toEqual([tokens]);
  });

  it('refuses a call that is larger than the limit, without a time to wait', async () => {
    const { call, clock } = limitedGateway([{ tokens: { perMinute: 100 } }]);

    const refused = await call(sampleRequests.chat);

    expect(refused.status).toBe(429);
    expect(messageOf(refused)).toBe(
      'This request may use up to 111 tokens, which is above the rate limit for this key: 100 ' +
        'tokens per minute. Shorten the input, or lower the limit of output tokens.',
    );
    expect(refused.headers).not.toHaveProperty('retry-after');
    expect(refused.headers['x-should-retry']).toBe('false');
    clock.advance(60_000);
    expect((await call(chat({ max_tokens: 50 }))).status).toBe(200);
  });

  it('counts a call that it refuses as a call, and its wait covers both limits', async () => {
    const both = [{ calls: { perMinute: 2 }, tokens: { perMinute: 200 } }];
    const { call, start, clock, upstream } = limitedGateway(both, { handlers: [] });
    const first = start(sampleRequests.chat);
    const running = await upstream.next();

    const refused = await call(sampleRequests.chat);

    // 22 tokens are back after 6.6 s, but one call of two a minute only after 30 s.
    expect(messageOf(refused)).toContain('200 tokens per minute');
    expect(refused.headers['retry-after-ms']).toBe('30000');
    clock.advance(29_999);
    expect(messageOf(await call(sampleRequests.chat))).toContain('2 calls per minute');
    clock.advance(1);
    const again = start(sampleRequests.chat);
    completeReply('chat')(await upstream.next());
    completeReply('chat')(running);
    expect([(await first.reply).status, (await again.reply).status]).toEqual([200, 200]);
  });

  it('counts none for a count of tokens', async () => {
    const { call } = gatewayInProcess({
      handlers: [(up) => up.answer(200, { totalTokens: 3 })],
      key: { rates: [{ tokens: { perMinute: 1 } }] },
    });

    const counted = await call({
      path: '/v1beta/models/native:countTokens',
      body: { contents: [{ parts: [{ text: 'hi' }] }] },
    });

    expect(counted.status).toBe(200);
  });
});

describe('limits of one model', () => {
  it('count only its calls, by its id or an alias', async () => {
    const rates = [{ model: 'alias', calls: { perMinute: 1 } }];
    const models = [model({ aliases: ['alias'] }), model({ id: 'other' })];
    const { call } = limitedGateway(rates, { models });

    expect((await call(chat())).status).toBe(200);
    expect((await call(chat({ model: 'other' }))).status).toBe(200);
    expect(messageOf(await call(chat({ model: 'alias' })))).toContain(
      'this key on this model: 1 call per minute',
    );
    expect((await call(chat({ model: 'other' }))).status).toBe(200);
  });

  it('of the model itself count the calls of all keys, and show no figures', async () => {
    const models = [model({ rates: { calls: { perHour: 2 } } })];
    const { call } = twoKeys({ ada: [], bob: [] }, { models });

    expect((await call('ada')).status).toBe(200);
    expect((await call('bob')).status).toBe(200);
    const refused = await call('ada');

    expect(messageOf(refused)).toContain('for this model: calls per hour.');
    expect(refused.headers['retry-after']).toBe('1800');
    expect(rateHeadersOf(refused)).toEqual({});
  });

  it('of the key refuse first, so that nothing is taken from what others use', async () => {
    const models = [model({ rates: { calls: { perHour: 2 } } })];
    const own = { model: 'chat', calls: { perHour: 1 } };
    const { call } = twoKeys({ ada: [own], bob: [] }, { models });

    const statuses = [];
    for (const key of ['ada', 'ada', 'ada', 'bob', 'bob'] as const) {
      statuses.push((await call(key)).status);
    }

    expect(statuses).toEqual([200, 429, 429, 200, 429]);
  });

  it('of the model give back what a key took that they refuse', async () => {
    const models = [model({ rates: { calls: { perHour: 1 } } })];
    const own = { model: 'chat', calls: { perDay: 2 } };
    const { call, clock } = twoKeys({ ada: [own], bob: [] }, { models });
    await call('bob');

    for (let tries = 0; tries < 5; tries += 1) expect((await call('ada')).status).toBe(429);
    clock.advance(3_600_000);

    const granted = await call('ada');
    expect([granted.status, rateHeadersOf(granted)['remaining-requests']]).toEqual([200, '1']);
  });
});

describe('a limit that keys share', () => {
  const shared = { subject: 'group.pro', calls: { perMinute: 2 } };

  it('counts the calls of all of them, and hides its figures', async () => {
    const { call } = twoKeys({ ada: [shared], bob: [shared] });

    const first = await call('ada');
    await call('bob');
    const refused = await call('ada');

    expect(first.status).toBe(200);
    expect(messageOf(refused)).toContain("for this key's group: calls per minute.");
    expect([rateHeadersOf(first), rateHeadersOf(refused)]).toEqual([{}, {}]);
  });

  it('shows its figures if it is visible', async () => {
    const visible = { ...shared, visible: true };
    const { call } = twoKeys({ ada: [visible], bob: [visible] });

    await call('ada');
    const second = await call('bob');
    const refused = await call('ada');

    expect(rateHeadersOf(second)['remaining-requests']).toBe('0');
    expect(messageOf(refused)).toContain("for this key's group: 2 calls per minute.");
  });

  it('is untouched by calls that the key’s own limit refuses', async () => {
    const own = { calls: { perMinute: 1 } };
    const { call } = twoKeys({ ada: [shared, own], bob: [shared] });

    const statuses = [];
    for (const key of ['ada', 'ada', 'ada', 'bob', 'bob'] as const) {
      statuses.push((await call(key)).status);
    }

    expect(statuses).toEqual([200, 429, 429, 200, 429]);
  });
});

describe('a limit that changes in the record of a key', () => {
  it('counts from the next call on', async () => {
    let rates: readonly KeyRateLimits[] = [{ calls: { perHour: 1 } }];
    const { call } = limitedGateway([], {
      options: {
        keys: {
          find: () => ({
            id: 'caller',
            group: 'staff',
            disabled: false,
            quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000n }],
            rates,
          }),
        },
      },
    });
    const statuses: number[] = [];
    for (const perHour of [1, 1, 3, 3, 3, 2]) {
      rates = [{ calls: { perHour } }];
      statuses.push((await call(sampleRequests.chat)).status);
    }

    expect(statuses).toEqual([200, 429, 200, 200, 429, 429]);
  });
});

describe('a key and a model without limits', () => {
  it('never ask the rate limiter', async () => {
    const operations: string[] = [];
    const rateLimiter = {
      take: () => {
        operations.push('take');
        return { granted: true, remaining: [] } as const;
      },
      adjust: () => operations.push('adjust'),
    };
    for (const kind of kinds) {
      const handlers = [completeReply(kind)];
      const { call } = gatewayInProcess({ handlers, options: { rateLimiter } });
      expect((await call(sampleRequests[kind])).status).toBe(200);
    }

    expect(operations).toEqual([]);
  });

  it('of other entries than this call’s model ask only for what applies', async () => {
    expect(
      await spiedTakes([{ model: 'other', calls: { perDay: 1 } }], sampleRequests.chat),
    ).toEqual([]);
  });
});

/** The amounts that a call takes after its body was read. */
async function spiedTakes(
  rates: readonly KeyRateLimits[],
  request: CallerRequest,
): Promise<readonly number[]> {
  const taken: RateTake[] = [];
  const limiter = memoryRateLimiter({ clock: fakeClock() });
  const { call } = gatewayInProcess({
    handlers: [completeReply('chat')],
    models: defaultModels(),
    key: { rates },
    options: {
      rateLimiter: {
        ...limiter,
        take: (takes) => {
          taken.push(...takes);
          return limiter.take(takes);
        },
      },
    },
  });
  await call(request);
  return taken.map(({ amount }) => amount);
}

interface TwoKeys {
  readonly clock: InProcessGateway['clock'];
  call(key: 'ada' | 'bob'): Promise<CallerReply>;
}

/** A gateway for two keys of one group. */
function twoKeys(
  rates: Readonly<Record<'ada' | 'bob', readonly KeyRateLimits[]>>,
  setup: GatewaySetup = {},
): TwoKeys {
  const find = (secret: string): ApiKey => ({
    id: secret,
    group: 'staff',
    disabled: false,
    quota: [{ id: secret, period: 'total', limitNanos: 1_000_000n }],
    rates: secret === 'ada' ? rates.ada : rates.bob,
  });
  const { call, clock } = limitedGateway([], { ...setup, options: { keys: { find } } });
  return {
    clock,
    call: (key) => call({ ...sampleRequests.chat, headers: { authorization: `Bearer ${key}` } }),
  };
}
