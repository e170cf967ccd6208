// suite: quick
/** The event `port_failed` names what is wrong in the record of a host's key store or catalog. */
import { describe, expect, it } from 'vitest';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, completeReply, model, sampleRequests } from '../../support/models.ts';
import { untyped } from './failing.ts';

const key = {
  id: 'a',
  group: 'staff',
  disabled: false,
  quota: [
    { id: 'a', period: 'total', limitNanos: 1_000n },
    { id: 'b', period: 'day' },
  ],
};

/** The key with one member of its second subject replaced. */
function second(change: object): object {
  return { ...key, quota: [key.quota[0], { ...key.quota[1], ...change }] };
}

describe('a key’s record', () => {
  it.each([
    [{ ...key, id: 5 }, 'id'],
    [{ ...key, group: undefined }, 'group'],
    [{ ...key, disabled: 'no' }, 'disabled'],
    [{ ...key, expiresAtMs: new Date(0) }, 'expiresAtMs'],
    [{ ...key, quotaPartition: 1 }, 'quotaPartition'],
    [{ ...key, maxConcurrentCalls: '5' }, 'maxConcurrentCalls'],
    [{ ...key, responseOwner: '' }, 'responseOwner'],
    [{ ...key, rates: 5 }, 'rates'],
    [{ ...key, metadata: 'research' }, 'metadata'],
    [{ ...key, metadata: ['research'] }, 'metadata'],
    [{ ...key, metadata: { team: 5 } }, 'metadata.team'],
    [{ ...key, metadata: { team: { name: 'x' } } }, 'metadata.team'],
    [{ ...key, quota: undefined }, 'quota'],
    [{ ...key, quota: [] }, 'quota'],
    [
      {
        ...key,
        quota: Array.from({ length: 9 }, (_, index) => ({ ...key.quota[0], id: `s${index}` })),
      },
      'quota',
    ],
    [{ ...key, quotaPartition: 'a b' }, 'quotaPartition'],
    [{ ...key, maxConcurrentCalls: 1.5 }, 'maxConcurrentCalls'],
    [{ ...key, rates: [{ calls: { perMinute: '60' } }] }, 'rates[0].calls.perMinute'],
    [{ ...key, quota: [null] }, 'quota[0]'],
    [second({ id: '' }), 'quota[1].id'],
    [second({ period: 'year' }), 'quota[1].period'],
    [second({ period: 'week', anchorDay: 5 }), 'quota[1].anchorDay'],
    [second({ models: [] }), 'quota[1].models'],
    [second({ limitNanos: 100 }), 'quota[1].limitNanos'],
    [second({ visible: 1 }), 'quota[1].visible'],
    [second({ maxConcurrentCalls: 0 }), 'quota[1].maxConcurrentCalls'],
    [second({ id: 'a', period: 'total' }), 'quota[1].id'],
    [{ ...key, quota: [...key.quota, { id: 'c', period: 'day' }, key.quota[1]] }, 'quota[3].id'],
  ])('%o is refused by the name %s', async (record, member) => {
    const { call, events } = gatewayInProcess({ options: { keys: { find: untyped(record) } } });

    expect((await call(sampleRequests.chat)).status).toBe(503);
    expect(events).toEqual([
      {
        type: 'port_failed',
        requestId: expect.any(String),
        port: 'keys',
        operation: 'find',
        reason: 'StoreCorrupt',
        member,
        problem: expect.stringMatching(/^(?:is missing, and )?must (?:be|match|differ) .*\.$/),
      },
    ]);
    expect(events[0]).not.toHaveProperty('error');
  });

  it('may have a subject with several periods', async () => {
    const quota = ['b total', 'a day', 'b month', 'a total'].map((line) => {
      const [id, period] = line.split(' ');
      return { id, period, limitNanos: 100_000n };
    });
    const find = untyped({ ...key, quota });
    const { start, upstream, eventTypes } = gatewayInProcess({ options: { keys: { find } } });

    const call = start(sampleRequests.chat);
    completeReply('chat')(await upstream.next());

    expect((await call.reply).status).toBe(200);
    expect(eventTypes()).not.toContain('port_failed');
  });

  it('that is not an object is refused without the name of a member', async () => {
    const { call, events } = gatewayInProcess({ options: { keys: { find: untyped('key') } } });

    await call(sampleRequests.chat);

    expect(events).toMatchObject([{ type: 'port_failed', reason: 'StoreCorrupt' }]);
    expect(events[0]).not.toHaveProperty('member');
  });

  it('that throws when it is read is refused too', async () => {
    const trap = new Proxy(key, {
      get: () => {
        throw new RangeError('not loaded');
      },
    });
    const { call, events } = gatewayInProcess({ options: { keys: { find: untyped(trap) } } });

    expect((await call(sampleRequests.chat)).status).toBe(503);
    expect(events).toMatchObject([{ type: 'port_failed', reason: 'RangeError' }]);
  });
});

describe('a model’s record', () => {
  it.each([
    [{ ...model(), price: { per: 'token', rates: { input: 1 } } }, 'price.rates.input'],
    [{ ...model(), groups: 'staff' }, 'groups'],
    [{ ...model(), price: { per: 'token', rates: { input: 1n } } }, 'price.rates.output'],
    [model({ channels: [channel({ weight: -1 })] }), 'channels[0].weight'],
    [model({ channels: [channel({ headers: { 'x-a': 'a\n' } })] }), 'channels[0].headers["x-a"]'],
  ])('%o is refused by the name %s', async (record, member) => {
    const catalog = { find: untyped(record), list: () => [] };
    const { call, events } = gatewayInProcess({ options: { catalog } });

    expect((await call(sampleRequests.chat)).status).toBe(503);
    expect(events).toMatchObject([
      { type: 'port_failed', port: 'catalog', reason: 'StoreCorrupt', member },
    ]);

    // A list of models names its element, and is reported once however many APIs are listed.
    const lists = { find: () => undefined, list: untyped([model({ id: 'other' }), record]) };
    const listed = gatewayInProcess({ options: { catalog: lists } });
    expect((await listed.call({ method: 'GET', path: '/v1/models' })).status).toBe(503);
    expect(listed.events).toMatchObject([
      { type: 'port_failed', operation: 'list', member: `[1].${member}` },
    ]);
  });

  it.each(['a text', [5], { models: [] }])('that is in no list of models: %j', async (answer) => {
    const catalog = { find: () => undefined, list: untyped(answer) };
    const { call, events } = gatewayInProcess({ options: { catalog } });

    expect((await call({ method: 'GET', path: '/v1/models' })).status).toBe(503);
    const named = Array.isArray(answer) ? { member: '[0]', problem: 'must be a model.' } : {};
    expect(events).toMatchObject([{ type: 'port_failed', reason: 'StoreCorrupt', ...named }]);
  });

  it('that can’t be listed is reported once', async () => {
    const list = () => Promise.reject(new RangeError('no'));
    const { call, events } = gatewayInProcess({
      options: { catalog: { find: () => undefined, list } },
    });

    expect((await call({ method: 'GET', path: '/v1/models' })).status).toBe(503);
    expect(events).toMatchObject([{ type: 'port_failed', reason: 'RangeError' }]);
  });
});
