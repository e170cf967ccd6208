// suite: slow runtime
/** The file sink: one JSON line per record, batched, bounded, and complete after `close`. */
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { jsonlUsageSink } from '../../src/stores/jsonl/usage-sink.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-jsonl-'));
});

afterEach(() => rm(folder, { recursive: true }));

it('writes buffered records at each interval, to a file that only its owner can read', async () => {
  const clock = fakeClock();
  const path = join(folder, 'usage.jsonl');
  const sink = jsonlUsageSink({ path, clock, flushMs: 100 });
  await sink.record(usageRecord({ requestId: 'one' }));

  clock.advance(100);

  await vi.waitFor(async () => expect(await readFile(path, 'utf8')).toContain('"one"'));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await sink.close();
});

it('keeps and reports what could not be written, and refuses more when full', async () => {
  const clock = fakeClock();
  const failures: unknown[] = [];
  const path = join(folder, 'missing', 'usage.jsonl');
  const onError = (error: unknown): number => failures.push(error);
  const sink = jsonlUsageSink({ path, clock, flushMs: 100, maxBufferedRecords: 1, onError });
  await sink.record(usageRecord());

  clock.advance(100);

  await vi.waitFor(() => expect(failures).toHaveLength(1));
  expect(() => sink.record(usageRecord())).toThrow(/full/);
  await expect(sink.close()).rejects.toThrow(/ENOENT/);
});

it('ignores a listener that throws or rejects', async () => {
  const clock = fakeClock();
  const path = join(tmpdir(), 'no-such-folder', 'usage.jsonl');
  let reported = 0;
  const listeners = [
    (): never => {
      reported += 1;
      throw new Error('listener');
    },
    async (): Promise<never> => {
      reported += 1;
      throw new Error('listener');
    },
  ];
  for (const onError of listeners) {
    const sink = jsonlUsageSink({ path, clock, flushMs: 100, onError });
    await sink.record(usageRecord());
  }

  clock.advance(100);

  await vi.waitFor(() => expect(reported).toBe(2));
});
