// suite: quick runtime
/**
 * The secrets that the gateway issues: their form, checksum and digests, and the keys issued with
 * them.
 */
import { describe, expect, it } from 'vitest';
import { issueKey } from '../src/issue-key.ts';
import type { QuotaSubject } from '../src/ports/keys/key-store.ts';
import { digestSecret, isWeakSecret, mintSecret, publicPart, secretKind } from '../src/secret.ts';
import { untyped } from './stages/ports/failing.ts';

describe('a secret', () => {
  it('has a prefix, a public part, 256 random bits and a checksum', () => {
    expect(mintSecret()).toMatch(/^tg_[\w-]{8}_[\w-]{43}_[\w-]{6}$/);
  });

  it('is always recognised, whatever its random part', () => {
    const secrets = Array.from({ length: 1_000 }, mintSecret);

    expect(new Set(secrets.map(secretKind))).toEqual(new Set(['ours']));
    expect(new Set(secrets).size).toBe(1_000);
  });

  it('with any one character changed is forged', () => {
    const secret = mintSecret();

    for (let index = 3; index < secret.length; index += 1) {
      const other = secret[index] === 'A' ? 'B' : 'A';
      const changed = secret.slice(0, index) + other + secret.slice(index + 1);
      expect(secretKind(changed)).toBe('forged');
    }
  });

  it('with our prefix and another form is forged', () => {
    const secret = mintSecret();

    for (const text of ['tg_', `${secret}A`, secret.slice(0, -1), `${secret}\n`, 'tg_ü']) {
      expect(secretKind(text)).toBe('forged');
    }
  });

  it('without our prefix is the host’s own kind', () => {
    for (const text of ['', 'sk-abc', 'TG_', ` ${mintSecret()}`]) {
      expect(secretKind(text)).toBe('foreign');
    }
  });
});

describe('a digest', () => {
  it('is SHA-256 without a pepper', () => {
    expect(digestSecret('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0');
  });

  it('differs with each pepper', () => {
    const digests = [digestSecret('abc'), digestSecret('abc', 'p'), digestSecret('abc', 'q')];

    expect(new Set(digests).size).toBe(3);
  });
});

it('recognises a secret that is easy to guess', () => {
  expect(['', 'password123', 'a'.repeat(20)].map(isWeakSecret)).toEqual([true, true, true]);
  expect(isWeakSecret(mintSecret())).toBe(false);
  expect(isWeakSecret('9f86d081884c7d659a2feaa0c55ad015')).toBe(false);
});

describe('an issued key', () => {
  it('has an id from its secret and is charged to its own subject', () => {
    const { secret, key } = issueKey({ group: 'chat', limitNanos: 5n, period: 'month' });

    const id = `key_${publicPart(secret)}`;
    const quota = [{ id, period: 'month', limitNanos: 5n }];
    expect(key).toEqual({ id, group: 'chat', disabled: false, quota });
    expect(secretKind(secret)).toBe('ours');
  });

  it('may share the quota of its group in addition to its own', () => {
    const pool = { id: 'group-chat', period: 'day' as const };

    const { key } = issueKey({ id: 'alice', group: 'chat', limitNanos: 5n, quota: [pool] });

    expect(key.quota).toEqual([{ id: 'alice', period: 'total', limitNanos: 5n }, pool]);
  });

  it('that could never be charged is refused', () => {
    const pool = { id: 'pool', period: 'total' as const };

    expect(() => issueKey({ group: 'chat' })).toThrow(/needs a limitNanos.* Set one of them\.$/);
    expect(() => issueKey({ group: 'chat', quota: [pool, pool] })).toThrow(/listed once/);
  });

  const whole = { group: 'chat', limitNanos: 1n };
  const pool = { id: 'pool', period: 'total' };
  const noCount = [0, -1, 1.5, Number.NaN, '5', null];
  const limit = { calls: { perMinute: 60 } };
  const rows: readonly (readonly [place: string, wrong: readonly object[], says: string])[] = [
    ['options.group', [{ group: undefined }, { group: '' }, { group: 5 }], 'the name of a group'],
    [
      'options.id',
      [{ id: 'a b' }, { id: '' }, { id: 5 }],
      'must be 1 to 128 printable ASCII characters without spaces.',
    ],
    [
      'options.period',
      [{ period: 'year' }, { period: '' }],
      "must be 'total', 'day', 'week' or 'month'.",
    ],
    [
      'options.limitNanos',
      [{ limitNanos: -1n }, { limitNanos: 5 }, { limitNanos: 2n ** 53n }],
      "must be a bigint of nanos, such as money('0.15'), from 0n to 2^53 − 1",
    ],
    [
      'options.maxConcurrentCalls',
      noCount.map((maxConcurrentCalls) => ({ maxConcurrentCalls })),
      'must be a positive integer. Leave it out for no bound.',
    ],
    [
      'options.expiresAtMs',
      [...noCount, new Date(), Number.POSITIVE_INFINITY].map((expiresAtMs) => ({ expiresAtMs })),
      'must be Unix milliseconds, a positive integer. Leave it out for a key that does not expire.',
    ],
    ['options.disabled', [{ disabled: 'no' }, { disabled: 0 }], 'must be true or false. Leave it'],
    ['options.quotaPartition', [{ quotaPartition: 'a b' }], 'Leave it out for the default.'],
    ['options.metadata.team', [{ metadata: { team: 5 } }], 'must be text.'],
    ['options.quota', [{ quota: pool }], 'must be a list of subjects.'],
    ['options.quota[0]', [{ quota: [null] }, { quota: ['pool'] }], 'must be a subject: an id and'],
    ['options.quota[0].id', [{ quota: [{ ...pool, id: 'a b' }] }], 'must be 1 to 128'],
    [
      'options.quota[0].period',
      [{ quota: [{ id: 'pool' }] }, { quota: [{ ...pool, period: 'year' }] }],
      "must be 'total', 'day', 'week' or 'month'.",
    ],
    [
      'options.quota[1].maxConcurrentCalls',
      noCount.map((maxConcurrentCalls) => ({
        quota: [pool, { ...pool, id: 'other', maxConcurrentCalls }],
      })),
      'must be a positive integer. Leave it out for no bound.',
    ],
    ['options.rates', [{ rates: limit }, { rates: 5 }], 'must be a list of limits: [{ calls: {'],
    ['options.rates[0]', [{ rates: [{ subject: 'pool' }] }], 'must limit calls, tokens or both.'],
    [
      'options.rates[1].tokens.perDay',
      noCount.map((perDay) => ({ rates: [limit, { tokens: { perDay } }] })),
      'must be a positive integer. Without it there is no limit per day.',
    ],
    [
      'options.rates[0].subject',
      [{ rates: [{ ...limit, subject: 'a b' }] }],
      'must be 1 to 128 printable ASCII characters without spaces. ' +
        'Leave it out for limits of the key alone.',
    ],
    [
      'options.rates[0].perMinute',
      [{ rates: [{ ...limit, perMinute: 5 }] }],
      'does not exist. Take it out',
    ],
    ['options.limit', [{ limit: 5n }], 'does not exist. Did you mean limitNanos?'],
  ];

  it.each(rows)('is refused for %s, with the remedy', (place, wrong, message) => {
    for (const change of wrong) {
      const refused = () => issueKey(untyped({ ...whole, ...change })());

      expect(refused).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
      expect(refused).toThrow(`issueKey: ${place} `);
      expect(refused).toThrow(message);
    }
  });

  it.each([undefined, null, 'chat'])('is refused for options that are %o', (options) => {
    expect(() => issueKey(untyped(options)())).toThrow('issueKey: options must be an object.');
  });

  it('fits the eight lines of a hold, including the one that counts its calls', () => {
    const pools = (count: number): readonly QuotaSubject[] =>
      Array.from({ length: count }, (_, index) => ({ id: `pool-${index}`, period: 'total' }));
    const issue = (options: Partial<Parameters<typeof issueKey>[0]>) => () =>
      issueKey({ group: 'chat', id: 'alice', ...options });

    expect(issue({ quota: pools(8) })).not.toThrow();
    expect(issue({ quota: pools(7), maxConcurrentCalls: 1 })).not.toThrow();
    expect(issue({ quota: pools(7), limitNanos: 1n, maxConcurrentCalls: 1 })).not.toThrow();
    expect(issue({ quota: pools(8), maxConcurrentCalls: 1 })).toThrow(
      'at most 7 subjects besides its own. Remove one from quota, or set maxConcurrent',
    );
    expect(issue({ quota: pools(8), limitNanos: 1n })).toThrow(
      'at most 8 subjects. Remove some from quota.',
    );
  });
});
