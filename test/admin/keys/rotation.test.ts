// suite: slow host
/** Rotated keys: how long the old ones live, and what the new ones may refer to. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  continueFrom,
  referTo,
  responsesGateway,
} from '../../stages/references/responses-gateway.ts';
import { runsOf } from '../../support/sample.ts';
import { adminSetup } from '../admin-host.ts';

const dayMs = 86_400_000;
const yearMs = 365 * dayMs;
const wait = fc.oneof(fc.constantFrom(0, 1, 2), fc.nat(60_000), fc.nat(yearMs));

it('no rotation lets a key live longer than before, or than its overlap', async () => {
  const rotations = fc.array(fc.record({ overlapMs: wait, passMs: wait }), {
    minLength: 1,
    maxLength: 5,
  });
  const lifeMs = fc.option(fc.integer({ min: 1, max: yearMs }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(lifeMs, rotations, async (life, sequence) => {
      const { admin, keys, clock } = adminSetup();
      const expiry = life === undefined ? {} : { expiresAtMs: clock.now() + life };
      await admin.keys.issue('ada', { id: 'old', group: 'staff', limitNanos: 5n, ...expiry });
      let before = life === undefined ? Number.POSITIVE_INFINITY : clock.now() + life;
      for (const { overlapMs, passMs } of sequence) {
        clock.advance(passMs);
        const isExpired = before <= clock.now();
        const rotation = admin.keys.rotate('ada', 'old', { overlapMs });
        if (isExpired) {
          await expect(rotation).rejects.toMatchObject({ code: 'conflict' });
          return;
        }
        const { key, replaced } = await rotation;
        const after = keys.get('old')?.expiresAtMs;

        expect(after).toBe(Math.min(before, clock.now() + overlapMs));
        expect(replaced.expiresAtMs).toBe(after);
        expect(keys.get(key.id)?.expiresAtMs ?? Number.POSITIVE_INFINITY).toBe(before);
        before = after ?? Number.POSITIVE_INFINITY;
      }
    }),
    { numRuns: runsOf(300) },
  );
});

it.each([
  1, 2, 3, 4, 5,
])('after %i rotations the replies of all earlier keys stay', async (count) => {
  const { admin, keys } = adminSetup();
  const gateway = responsesGateway({ options: { keys } });
  const ask = (secret: string, members: object) =>
    gateway.call({
      path: '/v1/responses',
      headers: { authorization: `Bearer ${secret}`, 'x-vendor-api-key': '' },
      body: { model: 'm', input: 'hi', ...members },
    });
  const limits = { group: 'staff', limitNanos: 1_000_000_000n };
  const stranger = await admin.keys.issue('ada', { ...limits, id: 'stranger' });
  let current = await admin.keys.issue('ada', { ...limits, id: 'key0' });
  const ofKeys: number[] = [];
  let replies = 0;
  for (let rotated = 0; rotated <= count; rotated += 1) {
    if (rotated > 0) {
      current = await admin.keys.rotate('ada', `key${rotated - 1}`, { id: `key${rotated}` });
    }
    expect((await ask(current.secret, {})).status).toBe(200);
    replies += 1;
    ofKeys.push(replies);
    for (const reply of ofKeys) {
      for (const [members, refusal] of [
        [continueFrom(`resp_${reply}`), 400],
        [referTo(`msg_${reply}`), 404],
      ] as const) {
        expect((await ask(stranger.secret, members)).status).toBe(refusal);
        const { status } = await ask(current.secret, members);
        expect(status, `key ${rotated}, reply ${reply}`).toBe(200);
        replies += 1;
      }
    }
  }
});
