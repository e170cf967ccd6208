/**
 * The secrets we mint: their shape, their checksum, their digests, and the keys issued with them.
 */
import { describe, expect, it } from 'vitest';
import { issueKey } from '../src/issue-key.ts';
import { digestSecret, isWeakSecret, mintSecret, publicPart, secretKind } from '../src/secret.ts';

describe('T01 a secret', () => {
  it('has a prefix, a public part, 256 random bits and a checksum', () => {
    expect(mintSecret()).toMatch(/^tg_[\w-]{8}_[\w-]{43}_[\w-]{6}$/);
  });

  it('is known as ours, every time, whatever its random part holds', () => {
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

  it('with our prefix and another shape is forged', () => {
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

describe('T03 a digest', () => {
  it('is SHA-256 without a pepper', () => {
    expect(digestSecret('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0');
  });

  it('is another with each pepper', () => {
    const digests = [digestSecret('abc'), digestSecret('abc', 'p'), digestSecret('abc', 'q')];

    expect(new Set(digests).size).toBe(3);
  });
});

it('T03 a secret that could be guessed is told from one that could not', () => {
  expect(['', 'password123', 'a'.repeat(20)].map(isWeakSecret)).toEqual([true, true, true]);
  expect(isWeakSecret(mintSecret())).toBe(false);
  expect(isWeakSecret('9f86d081884c7d659a2feaa0c55ad015')).toBe(false);
});

describe('an issued key', () => {
  it('is named for its secret and charged to a subject of its own', () => {
    const { secret, key } = issueKey({ group: 'chat', limitNanos: 5n, period: 'month' });

    const id = `key_${publicPart(secret)}`;
    const quota = [{ id, period: 'month', limitNanos: 5n }];
    expect(key).toEqual({ id, group: 'chat', disabled: false, quota });
    expect(secretKind(secret)).toBe('ours');
  });

  it('may share the quota of its group, beside its own', () => {
    const pool = { id: 'group-chat', period: 'day' as const };

    const { key } = issueKey({ id: 'alice', group: 'chat', limitNanos: 5n, quota: [pool] });

    expect(key.quota).toEqual([{ id: 'alice', period: 'total', limitNanos: 5n }, pool]);
  });

  it('that could never be charged is refused', () => {
    const pool = { id: 'pool', period: 'total' as const };

    expect(() => issueKey({ group: 'chat' })).toThrow(/needs a limitNanos/);
    expect(() => issueKey({ group: 'chat', id: 'a b', limitNanos: 1n })).toThrow(/must match/);
    expect(() => issueKey({ group: 'chat', limitNanos: -1n })).toThrow(/limitNanos must be/);
    expect(() => issueKey({ group: 'chat', quota: [pool, pool] })).toThrow(/named once/);
  });
});
