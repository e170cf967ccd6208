// suite: services
/**
 * Two operators resolve the same call in doubt, over every store. The first resolution counts. The
 * second operator gets a conflict, unless both resolutions are the same, and the audit trail has
 * that outcome.
 */
import Libsql from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultPartition } from '../../../src/ports/limits/quota-input.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { postgresQuotaStore } from '../../../src/stores/postgres/quota-store.ts';
import { migrateSqlite, sqliteQuotaStore } from '../../../src/stores/sqlite/index.ts';
import { usageRecord } from '../../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { migrated } from '../../stores/postgres/schema.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { adminServer, adminSetup, changing } from '../admin-host.ts';

const heldNanos = 50n;
const findings = [
  { ran: false },
  { ran: true },
  { ran: true, chargeNanos: '50' },
  { ran: true, chargeNanos: '7' },
  { ran: true, chargeNanos: '0' },
] as const;

/** What a resolution charges. A release and a charge of 0 are different resolutions. */
function chargeOf(finding: (typeof findings)[number]): bigint | undefined {
  if (!finding.ran) return undefined;
  return 'chargeNanos' in finding ? BigInt(finding.chargeNanos) : heldNanos;
}

function cases(name: string, open: () => QuotaStore): void {
  const pairs = findings.flatMap((first) => findings.map((second) => ({ first, second })));
  it.each(pairs)('$first, then $second', async ({ first, second }) => {
    const quota = open();
    const subject = `${name}-${findings.indexOf(first)}-${findings.indexOf(second)}`;
    const id = `reservation-${subject}`;
    const line = { subject, period: '', amount: heldNanos };
    const hold = { id, partition: defaultPartition, ttlMs: 60_000, onExpire: 'release' } as const;
    await quota.reserve({ ...hold, lines: [{ ...line, limit: 100n }] });
    const doubt = usageRecord({
      ...{ requestId: id, reservationId: id, outcome: 'unknown', booked: false, heldNanos },
      lines: [{ subject, period: '', heldNanos }],
    });
    // A log as both operators read it before either of them resolved the call.
    let isRead = false;
    const { gateway, records } = gatewayInProcess({ store: () => quota });
    const inLog = (): UsageRecord => (isRead ? records.at(-1) : undefined) ?? doubt;
    const usage = { usageRecords: () => ({ records: [inLog()], next: undefined }) };
    const { admin, entries } = adminSetup({ gateway, quota, usage });
    const server = await adminServer(admin);
    const path = `/calls/${id}/resolve`;
    const send = (body: unknown) => server.call({ method: 'POST', path, headers: changing, body });

    const replies = [await send(first), await send(second)];

    const isSame = chargeOf(first) === chargeOf(second);
    expect(replies.map(({ status }) => status)).toEqual([200, isSame ? 200 : 409]);
    expect(entries.map(({ outcome, code }) => code ?? outcome)).toEqual([
      'done',
      isSame ? 'done' : 'conflict',
    ]);
    const state = await quota.read(subject, '', defaultPartition);
    expect([state?.used, state?.held]).toEqual([chargeOf(first) ?? 0n, 0n]);

    isRead = true;
    const third = await send(second);
    expect(third.status).toBe(isSame ? 200 : 409);
    if (isSame) expect(JSON.parse(third.text)).toMatchObject({ status: 'already' });
    await server.close();
  });
}

describe('over memory', () => {
  cases('memory', () => memoryQuotaStore({ clock: fakeClock() }));
});

describe('over SQLite', () => {
  cases('sqlite', () => {
    const client = new Libsql(':memory:');
    migrateSqlite(client);
    return sqliteQuotaStore({ client, clock: fakeClock() });
  });
});

describe.skipIf(!hasPostgres())('over PostgreSQL', () => {
  let server: PostgresServer;
  let quota: QuotaStore;

  beforeAll(async () => {
    server = await startPostgres();
    quota = postgresQuotaStore({ client: await migrated(server.pool()) });
  });
  afterAll(() => server.stop());
  cases('postgres', () => quota);
});
