// suite: quick
/** Tokens that expire: how long one is used, and what follows when an upstream refuses one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { perKey } from '../../../../src/index.ts';
import { runsOf } from '../../../support/sample.ts';
import { type Credential, tenants, users } from '../../keys/tenants.ts';

const minute = 60_000;

interface Issued {
  readonly atMs: number;
  readonly untilMs: number;
}

/** Gives a new token each time, as the libraries of the clouds do. */
function issuer(validMinutes: number, nowMs: () => number) {
  const issued = new Map<string, Issued>();
  const credential: Credential = async () => {
    const token = `token-${issued.size}-0123456789`;
    const atMs = nowMs();
    const untilMs = atMs + validMinutes * minute;
    issued.set(token, { atMs, untilMs });
    return { token, expiresOnTimestamp: untilMs };
  };
  return { issued, credential };
}

describe('a token that says when it expires', () => {
  const step = fc.record({
    user: fc.constantFrom(...users),
    afterMs: fc.constantFrom(0, 1, minute, 3 * minute, 4 * minute, 5 * minute, 30 * minute),
  });

  it('is used until a minute before, and renewed at most five minutes before', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 20 }),
        fc.integer({ min: 6, max: 60 }),
        async (steps, validMinutes) => {
          const { issued, credential } = issuer(validMinutes, () => clock.now());
          const { as, clock, sent } = tenants([{ credential }]);
          for (const { user, afterMs } of steps) {
            clock.advance(afterMs);
            expect((await as(user)).status).toBe(200);
            const { untilMs = 0 } = issued.get(sent().at(-1) ?? '') ?? {};
            expect(untilMs - clock.now()).toBeGreaterThan(minute);
          }
          const all = [...issued.values()];
          for (const [index, { atMs }] of all.entries()) {
            const { untilMs = atMs } = all[index - 1] ?? {};
            expect(untilMs - atMs).toBeLessThanOrEqual(5 * minute);
          }
        },
      ),
      { numRuns: runsOf(100) },
    ));

  it.each([56, 60, 90])('is renewed by one of the calls that run at once, after %i min', (min) =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...users), { minLength: 1 }), async (calls) => {
        const { issued, credential } = issuer(60, () => clock.now());
        const { as, clock } = tenants([{ credential }]);
        await as('alice');

        clock.advance(min * minute);
        const replies = await Promise.all(calls.map(as));

        expect(replies.map(({ status }) => status)).toEqual(calls.map(() => 200));
        expect(issued.size).toBe(2);
      }),
      { numRuns: 20 },
    ));

  it('is renewed by one of the calls whose token was refused', async () => {
    const { issued, credential } = issuer(60, () => clock.now());
    let bad = '';
    const { as, clock, sent } = tenants([{ credential }], (up, token) => {
      if (token !== bad) return false;
      up.answer(401, { error: { code: 'invalid_api_key' } });
      return true;
    });
    await as('alice');
    [bad = ''] = sent();

    const replies = await Promise.all([...users, ...users].map(as));

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(issued.size).toBe(2);
  });

  it('is requested again by the next call if a renewal fails, or never ends', async () => {
    let call = 0;
    const credential: Credential = async () => {
      call += 1;
      if (call === 2) throw new Error('no identity');
      if (call === 3) return new Promise<never>(() => {});
      return { token: `token-${call}-0123456789`, expiresOnTimestamp: clock.now() + 10 * minute };
    };
    const { as, clock, sent } = tenants([{ credential }]);
    await as('alice');
    clock.advance(6 * minute);
    for (const user of users) expect((await as(user)).status).toBe(200);
    expect(call).toBe(3);

    clock.advance(minute);
    expect((await as('alice')).status).toBe(200);
    expect((await as('alice')).status).toBe(200);

    expect(sent().at(-1)).toBe('token-4-0123456789');
  });

  it('is requested for each call if the function answers for each key', async () => {
    const { issued, credential } = issuer(60, () => clock.now());
    const { as, clock } = tenants([{ credential: perKey(credential) }]);

    for (const user of users) await as(user);

    expect(issued.size).toBe(users.length);
  });
});

describe('a secret that the upstream refuses', () => {
  const answers = (...secrets: readonly string[]) => {
    let requests = 0;
    const credential: Credential = () => secrets[Math.min(requests++, secrets.length - 1)];
    return { credential, requests: () => requests };
  };
  const refused = { error: { code: 'invalid_api_key' } };

  it('is replaced by a new one, and the account stays ready', async () => {
    const { credential } = answers('sk-old-0123456789', 'sk-new-0123456789');
    const gateway = tenants([{ credential }], (up, secret) => {
      if (secret === 'sk-new-0123456789') return false;
      up.answer(401, refused);
      return true;
    });

    expect((await gateway.as('alice')).status).toBe(200);

    expect(gateway.sent()).toEqual(['sk-old-0123456789', 'sk-new-0123456789']);
    expect(gateway.gateway.channels()).toMatchObject([{ state: 'ready' }]);
    expect(gateway.records).toMatchObject([
      { attempts: [{ status: 401, reason: 'credential_renewed' }, { status: 200 }] },
    ]);
  });

  it('is not sent again, and takes the account out, if there is no other', async () => {
    const { credential, requests } = answers('sk-old-0123456789');
    const gateway = tenants([{ credential }], (up) => {
      up.answer(401, refused);
      return true;
    });

    expect((await gateway.as('alice')).status).toBe(502);

    expect(requests()).toBe(2);
    expect(gateway.sent()).toEqual(['sk-old-0123456789']);
    expect(gateway.gateway.channels()).toMatchObject([{ state: 'cooling_down' }]);
  });

  it('is replaced once: a second refusal takes the account out', async () => {
    const { credential, requests } = answers(
      'sk-1-0123456789',
      'sk-2-0123456789',
      'sk-3-0123456789',
    );
    const gateway = tenants([{ credential }], (up) => {
      up.answer(401, refused);
      return true;
    });

    expect((await gateway.as('alice')).status).toBe(502);

    expect(requests()).toBe(2);
    expect(gateway.sent()).toHaveLength(2);
    expect(gateway.gateway.channels()).toMatchObject([{ state: 'cooling_down' }]);
  });
});
