/** The limit on invalid keys from one address. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failedKeys } from '../../src/stages/failed-keys.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { gatewayInProcess, type InProcessGateway } from '../support/gateway-in-process.ts';
import { completeReply, kinds, sampleRequests } from '../support/models.ts';

const addressHeader = 'x-client-address';
const perMinute = 3;

interface Limited {
  readonly running: InProcessGateway;
  /** The secrets that the key store was asked for. */
  readonly lookups: readonly string[];
  call(secret: string, address?: string): Promise<{ status: number; wait: string }>;
}

function limited(kind: (typeof kinds)[number] = 'chat', limit: object = { perMinute }): Limited {
  const lookups: string[] = [];
  const key = {
    id: 'caller',
    group: 'staff',
    disabled: false,
    quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000n }],
  } as const;
  const running = gatewayInProcess({
    handlers: Array(50).fill(completeReply(kind)),
    options: {
      keys: {
        find: (secret) => {
          lookups.push(secret);
          return secret === 'good' ? key : undefined;
        },
      },
      failedKeyLimit: {
        addressOf: ({ headers }) => headers[addressHeader]?.toString(),
        ...limit,
      },
    },
  });
  return {
    running,
    lookups,
    call: async (secret, address = 'a') => {
      const { status, headers } = await running.call({
        ...sampleRequests[kind],
        headers: {
          [addressHeader]: address,
          authorization: `Bearer ${secret}`,
          'x-vendor-api-key': secret,
        },
      });
      return { status, wait: headers['retry-after'] ?? '' };
    },
  };
}

describe.each(kinds)('%s: an address that sent too many invalid keys', (kind) => {
  it('is refused without a lookup, whatever key it sends, until its time has passed', async () => {
    const { call, lookups, running } = limited(kind);
    for (let sent = 0; sent < perMinute; sent += 1) {
      expect((await call('bad')).status).toBe(401);
    }

    expect(await call('bad')).toEqual({ status: 429, wait: '20' });
    expect(await call('good')).toEqual({ status: 429, wait: '20' });
    expect(lookups).toHaveLength(perMinute);
    running.clock.advance(19_999);
    expect((await call('good')).status).toBe(429);
    running.clock.advance(1);
    expect((await call('good')).status).toBe(200);
  });

  it('does not stop other addresses, or those that are not limited', async () => {
    const { call } = limited(kind);
    for (let sent = 0; sent <= perMinute; sent += 1) await call('bad');

    expect((await call('good', 'b')).status).toBe(200);
  });
});

it('valid keys do not count', async () => {
  const { call } = limited();

  for (let sent = 0; sent < 10 * perMinute; sent += 1) {
    expect((await call('good')).status).toBe(200);
  }
});

it('neither do a store that is down, or an address that is undefined', async () => {
  const { call } = limited('chat', { perMinute, addressOf: () => undefined });

  for (let sent = 0; sent < 2 * perMinute; sent += 1) {
    expect((await call('bad')).status).toBe(401);
  }
});

it.each([
  [
    'throws',
    () => {
      throw new Error('no address');
    },
  ],
  ['returns no text', () => 5],
  ['returns an empty text', () => ''],
])('an addressOf that %s lets nobody in, and is reported', async (_name, addressOf) => {
  const { call, running, lookups } = limited('chat', { addressOf });

  expect((await call('good')).status).toBe(503);
  expect(lookups).toEqual([]);
  expect(running.events).toContainEqual(
    expect.objectContaining({ type: 'port_failed', port: 'failed_key_limit' }),
  );
});

it('never lets more keys through than a bucket that refills evenly', () => {
  const event = fc.tuple(fc.constantFrom('a', 'b'), fc.nat(90_000));
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.array(event, { maxLength: 200 }),
      (limit, events) => {
        const clock = fakeClock();
        const failed = failedKeys(clock);
        const sent = new Map<string, number[]>();
        for (const [address, afterMs] of events) {
          clock.advance(afterMs % 7 === 0 ? afterMs : afterMs % 500);
          if (failed.waitMs(address, limit) > 0) continue;
          failed.add(address, limit);
          sent.set(address, [...(sent.get(address) ?? []), clock.monotonicMs()]);
        }
        for (const times of sent.values()) {
          for (const [index, startMs] of times.entries()) {
            for (const [later, endMs] of times.entries()) {
              if (later < index) continue;
              const allowed = limit + ((endMs - startMs) / 60_000) * limit;
              expect(later - index + 1).toBeLessThanOrEqual(allowed + 1e-6);
            }
          }
        }
      },
    ),
    { seed: 15, numRuns: 200 },
  );
});

it('tells how long to wait, to the millisecond or two', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.nat(60_000), (limit, afterMs) => {
      const clock = fakeClock();
      const failed = failedKeys(clock);
      for (let sent = 0; sent < limit; sent += 1) failed.add('a', limit);
      clock.advance(afterMs);
      const waitMs = failed.waitMs('a', limit);
      if (waitMs === 0) return;
      // Two, because of rounding.
      clock.advance(Math.max(0, waitMs - 2));
      expect(failed.waitMs('a', limit)).toBeGreaterThan(0);
      clock.advance(2);
      expect(failed.waitMs('a', limit)).toBe(0);
    }),
    { seed: 16, numRuns: 200 },
  );
});

it('forgets the address whose last failure is longest ago, above 10,000 of them', () => {
  const failed = failedKeys(fakeClock());
  failed.add('first', 1);
  failed.add('second', 1);
  failed.add('first', 1);
  for (let index = 0; index < 9_999; index += 1) failed.add(String(index), 1);

  expect(failed.waitMs('second', 1)).toBe(0);
  expect(failed.waitMs('first', 1)).toBeGreaterThan(0);
});
