// suite: quick
/** Rate limits of models, of groups and of fallbacks, which several keys use. */
import { describe, expect, it } from 'vitest';
import type { ApiKey } from '../../../src/ports/keys/key-store.ts';
import type { KeyRateLimits, RateLimits } from '../../../src/ports/limits/rates.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  type CallerReply,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { channel, chat, completeReply, model, sampleRequests } from '../../support/models.ts';
import { limitedGateway, messageOf, rateHeadersOf, reserved } from './rate-limited.ts';

describe('limits of an owner', () => {
  const wide = { calls: { perMinute: 1_000 } };
  const subject = 'owner.acme';
  const ofKey = [undefined, [], [wide]];
  const others = [undefined, wide];
  const narrow = { calls: { perHour: 1 }, tokens: { perHour: reserved } };
  const cases = ofKey.flatMap((rates) =>
    others.flatMap((defaults) =>
      others.flatMap((ofModel) =>
        (['calls', 'tokens'] as const).map((kind) => ({ rates, defaults, ofModel, kind })),
      ),
    ),
  );

  it.each(cases)('hold beside any others: %j', async ({ rates, defaults, ofModel, kind }) => {
    const sharedRates = [{ [kind]: narrow[kind], subject }];
    const { call } = gatewayInProcess({
      handlers: [completeReply('chat'), completeReply('chat')],
      key: rates === undefined ? { sharedRates } : { sharedRates, rates },
      models: [model(ofModel === undefined ? {} : { rates: ofModel })],
      options: defaults === undefined ? {} : { defaultRates: [defaults] },
    });

    const statuses = [];
    for (let calls = 0; calls < 2; calls += 1) statuses.push((await call(chat())).status);
    expect(statuses).toEqual([200, 429]);
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

describe('a fallback', () => {
  const out: CallHandler = (up) => up.breakOff('connect_refused', { stage: 'connect' });
  const spare = (rates: RateLimits): readonly Model[] => [
    model({ fallbacks: ['spare'] }),
    model({ id: 'spare', rates, channels: [channel({ id: 'spare' })] }),
  ];

  it('counts for its own limits, and is passed over if they refuse', async () => {
    const models = spare({ calls: { perHour: 1 } });
    const handlers = [out, completeReply('chat'), out];
    const { call, upstream } = gatewayInProcess({ models, handlers });

    const served = await call(sampleRequests.chat);
    const refused = await call(sampleRequests.chat);

    expect([served.status, served.headers['x-tollgate-model']]).toEqual([200, 'spare']);
    expect(refused.status).toBe(502);
    expect(upstream.calls).toHaveLength(3);
  });

  it('is passed over if the call is larger than its limit', async () => {
    const models = spare({ tokens: { perHour: reserved - 1 } });
    const { call, upstream } = gatewayInProcess({ models, handlers: [out] });

    expect((await call(sampleRequests.chat)).status).toBe(502);
    expect(upstream.calls).toHaveLength(1);
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
    expect(messageOf(refused)).toContain("for this key's quota: calls per minute.");
    expect([rateHeadersOf(first), rateHeadersOf(refused)]).toEqual([{}, {}]);
  });

  it('shows its figures if it is visible', async () => {
    const visible = { ...shared, visible: true };
    const { call } = twoKeys({ ada: [visible], bob: [visible] });

    await call('ada');
    const second = await call('bob');
    const refused = await call('ada');

    expect(rateHeadersOf(second)['remaining-requests']).toBe('0');
    expect(messageOf(refused)).toContain("for this key's quota: 2 calls per minute.");
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
