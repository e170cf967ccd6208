// suite: quick
/**
 * Ids of keys and subjects, as identity providers give them: any printable ASCII text is charged
 * under exactly this id, and any other is refused with its member before a port is reserves.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ApiKey } from '../../../src/ports/key-store.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../../support/models.ts';

const limitNanos = 1_000n;
const keyOf = (id: string, subject: string): Partial<ApiKey> => ({
  id,
  quota: [{ id: subject, period: 'total', limitNanos }],
});

const printable = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const anId = fc
  .array(printable, { minLength: 1, maxLength: 128, size: 'max' })
  .map((all) => all.join(''));
const noId = fc.oneof(
  fc.constantFrom('', ' ', 'a b', 'a\n', '\ta', 'a\u0000', 'ä', 'a\u007f', '１', 'x'.repeat(129)),
  fc.tuple(anId, anId).map((two) => two.map((one) => one.slice(0, 60)).join(' ')),
);

it('any printable id is charged as it is', async () => {
  await fc.assert(
    fc.asyncProperty(anId, anId, async (id, subject) => {
      const harness = gatewayInProcess({
        key: keyOf(id, subject),
        handlers: [completeReply('chat')],
      });

      const { status } = await harness.call(sampleRequests.chat);

      expect(status).toBe(200);
      expect((await harness.state(subject)).used).toBe(20n);
      expect((await harness.nextRecord()).keyId).toBe(id);
    }),
    { numRuns: 100 },
  );
});

it('any other id is refused with its member, before the store is reserves', async () => {
  await fc.assert(
    fc.asyncProperty(anId, noId, fc.boolean(), async (good, bad, isSubject) => {
      let reserves = 0;
      const harness = gatewayInProcess({
        key: isSubject ? keyOf(good, bad) : keyOf(bad, good),
        store: (quota) => ({
          reserve: (...input) => {
            reserves += 1;
            return quota.reserve(...input);
          },
        }),
      });

      const { status } = await harness.call(sampleRequests.chat);

      expect(status).toBe(503);
      expect(harness.events).toMatchObject([
        { type: 'port_failed', port: 'keys', member: isSubject ? 'quota[0].id' : 'id' },
      ]);
      expect(reserves).toBe(0);
    }),
    { numRuns: 100 },
  );
});
