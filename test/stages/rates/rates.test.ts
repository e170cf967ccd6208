// suite: quick
/** Rate limits of keys, groups and models: what is refused, with which error, and when. */
import { describe, expect, it } from 'vitest';
import type { ApiKey } from '../../../src/ports/keys/key-store.ts';
import type { RateTake } from '../../../src/ports/limits/rate-limiter.ts';
import type { KeyRateLimits } from '../../../src/ports/limits/rates.ts';
import { memoryRateLimiter } from '../../../src/stores/memory/rate-limiter.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { type CallerRequest, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { chat, completeReply, defaultModels, kinds, sampleRequests } from '../../support/models.ts';
import { limitedGateway, messageOf, reserved } from './rate-limited.ts';

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
