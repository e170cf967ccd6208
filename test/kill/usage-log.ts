/** The usage log of gateways whose database has none: one file for each process. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import type {
  UsageCharges,
  UsageQueries,
  UsageRecordPage,
} from '../../src/stores/sql/usage/report.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';

/** The folder of the files, next to the socket of the database. */
export function logFolder(socketPath: string): string {
  return join(socketPath, '..', 'usage');
}

const amount = z.string().transform(BigInt);

/** The members of a line that the test reads. */
const lineSchema = z.object({
  booked: z.boolean(),
  revision: z.number(),
  requestId: z.string(),
  reservationId: z.string(),
  partition: z.string(),
  chargeNanos: amount,
  lines: z.array(z.object({ subject: z.string(), period: z.string(), heldNanos: amount })),
});

/** Queries over all files of a folder, from all processes. */
export function readLog(folder: string): Pick<UsageQueries, 'usageCharges' | 'usageRecords'> {
  return {
    usageCharges: () => chargesOf(recordsIn(folder)),
    usageRecords: (): UsageRecordPage => ({ records: recordsIn(folder), next: undefined }),
  };
}

/** Each call once, by its highest revision. An incomplete line of a killed process is ignored. */
function recordsIn(folder: string): readonly UsageRecord[] {
  const latest = new Map<string, UsageRecord>();
  for (const file of readdirSync(folder)) {
    for (const text of readFileSync(join(folder, file), 'utf8').split('\n')) {
      const record = recordFrom(text);
      if (record === undefined) continue;
      const known = latest.get(record.reservationId);
      if (known === undefined || known.revision < record.revision) {
        latest.set(record.reservationId, record);
      }
    }
  }
  return [...latest.values()];
}

function recordFrom(text: string): UsageRecord | undefined {
  try {
    return usageRecord(lineSchema.parse(JSON.parse(text)));
  } catch {
    return undefined;
  }
}

function chargesOf(records: readonly UsageRecord[]): readonly UsageCharges[] {
  const sums = new Map<string, UsageCharges>();
  for (const { partition, lines, chargeNanos, booked } of records) {
    for (const { subject, period, heldNanos } of lines) {
      if (heldNanos === 0n) continue;
      const name = `${partition}|${subject}|${period}`;
      const none = { partition, subject, period, bookedNanos: 0n, unbookedNanos: 0n };
      const sum = sums.get(name) ?? none;
      const part = booked ? 'bookedNanos' : 'unbookedNanos';
      sums.set(name, { ...sum, [part]: sum[part] + chargeNanos });
    }
  }
  return [...sums.values()];
}
