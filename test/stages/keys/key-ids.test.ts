// suite: search
/**
 * Ids of keys and subjects, as identity providers give them: any printable ASCII text is charged
 * under exactly this id, and any other is refused with its member before quota is reserved. Events,
 * log lines and replies have it unharmed, and metrics don't have it at all.
 */
import fc from 'fast-check';
import client from 'prom-client';
import { logEvents } from 'tollgate';
import { prometheusMetrics } from 'tollgate/prometheus';
import { expect, it } from 'vitest';
import { jsonWithBigints } from '../../../src/json.ts';
import type { ApiKey } from '../../../src/ports/keys/key-store.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';

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
    { numRuns: runsOf(100) },
  );
});

it('any other id is refused with its member, before quota is reserved', async () => {
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
    { numRuns: runsOf(100) },
  );
});

const characters = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));

it.each([
  ['begin', (one: string, name: string) => `${one}${name}`],
  ['middle', (one: string, name: string) => `${name}${one}${name}`],
  ['end', (one: string, name: string) => `${name}${one}`],
])('each character at the %s of ids reaches events, lines and replies', async (_place, idWith) => {
  for (const one of characters) {
    const [id, subject] = [idWith(one, 'the-key'), idWith(one, 'the-subject')];
    const harness = gatewayInProcess({
      key: { id, quota: [{ id: subject, period: 'total', limitNanos: 220n, visible: true }] },
      handlers: [completeReply('chat')],
      options: { ownerRoutes: true },
    });
    const register = new client.Registry();
    prometheusMetrics(harness.gateway, { register });
    const lines: string[] = [];
    // As the console, whose lines are JSON.
    const write = (_message: string, fields: unknown): void => {
      lines.push(JSON.stringify(fields));
    };
    const levels = { debug: write, info: write, warn: write, error: write };
    harness.gateway.subscribe(logEvents({ ...levels, log: write }));

    await harness.call(sampleRequests.chat);
    const { text: described } = await harness.call({ method: 'GET', path: '/v1/key' });
    const refused = await harness.call(sampleRequests.chat);

    expect(refused.status).toBe(403);
    const events = harness.allEvents.map((event) => JSON.parse(jsonWithBigints(event)));
    const logged = lines.map((line) => JSON.parse(line));
    for (const found of [events, logged]) {
      const named = (type: string) =>
        found.find((each) => (found === events ? each.type : each.event) === type);
      expect(named('call_started')).toMatchObject({ keyId: id });
      expect(named('call_refused')).toMatchObject({ keyId: id });
      expect(named('call_refused').remedy).toContain(`subject ${JSON.stringify(subject)} has`);
    }
    expect((await harness.nextRecord()).lines).toMatchObject([{ subject }]);
    expect(JSON.parse(described)).toMatchObject({
      data: { label: id },
      tollgate: { quota: [{ subject }] },
    });
    expect(await register.metrics()).not.toMatch(/the-key|the-subject/);
  }
});
