/** The file sink: one JSON line a record, batched, bounded, and whole after a close. */
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

it('writes what waits each time its interval is over, for its owner only', async () => {
  const clock = fakeClock();
  const path = join(folder, 'usage.jsonl');
  const sink = jsonlUsageSink({ path, clock, flushMs: 100 });
  await sink.record(usageRecord({ requestId: 'one' }));

  clock.advance(100);

  await vi.waitFor(async () => expect(await readFile(path, 'utf8')).toContain('"one"'));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await sink.close();
});

it('keeps what could not be written, says so, and refuses what it has no room for', async () => {
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

it('a listener that throws or rejects is no concern of the sink’s', async () => {
  const clock = fakeClock();
  const path = join(tmpdir(), 'no-such-folder', 'usage.jsonl');
  let told = 0;
  const listeners = [
    (): never => {
      told += 1;
      throw new Error('listener');
    },
    async (): Promise<never> => {
      told += 1;
      throw new Error('listener');
    },
  ];
  for (const onError of listeners) {
    const sink = jsonlUsageSink({ path, clock, flushMs: 100, onError });
    await sink.record(usageRecord());
  }

  clock.advance(100);

  await vi.waitFor(() => expect(told).toBe(2));
});
