// suite: slow host
/** Usage over time: the sums of the records, and the currency of the host in what leaves it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { adminServer, adminSetup } from './admin-host.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const startMs = Date.UTC(2026, 1, 27);
const span = { fromMs: startMs, toMs: startMs + 4 * dayMs };

const records = fc
  .array(
    fc.record({
      at: fc.integer({ min: 0, max: 4 * dayMs - 1 }),
      model: fc.integer({ min: 0, max: 8 }),
      charge: fc.bigInt({ min: 0n, max: 10n ** 12n }),
      output: fc.integer({ min: 0, max: 5_000 }),
      durationMs: fc.integer({ min: 0, max: 90_000 }),
    }),
    { maxLength: 60 },
  )
  .map((calls) =>
    calls.map(({ at, model, charge, output, durationMs }, index) =>
      usageRecord({
        requestId: `r${index}`,
        startedAtMs: startMs + at,
        modelId: `m${model}`,
        chargeNanos: charge,
        usage: { inputTokens: 10, cachedInputTokens: 0, outputTokens: output, images: 0 },
        firstByteMs: durationMs / 2,
        durationMs,
      }),
    ),
  );

function adminOf(kept: readonly ReturnType<typeof usageRecord>[]) {
  const usage = memoryUsageSink();
  for (const record of kept) usage.record(record);
  return adminSetup({ usage }).admin;
}

const sizes = {
  charge: ({ chargeNanos }: ReturnType<typeof usageRecord>) => Number(chargeNanos),
  calls: () => 1,
  tokens: ({ usage }: ReturnType<typeof usageRecord>) => 10 + (usage?.outputTokens ?? 0),
};

describe('a series', () => {
  it('has each call once, under its name if that is one of the largest', async () => {
    const measures = fc.constantFrom('charge', 'calls', 'tokens');
    const steps = fc.constantFrom('hour', 'day');
    const top = fc.integer({ min: 1, max: 9 });

    await fc.assert(
      fc.asyncProperty(records, measures, steps, top, async (kept, measure, step, most) => {
        const query = { ...span, by: 'model', measure, step, top: most } as const;
        const { names, data } = await adminOf(kept).usage.series(query);
        const lengthMs = step === 'hour' ? hourMs : dayMs;
        const sumOf = (found: typeof kept) => ({
          calls: found.length,
          tokens: found.reduce((sum, record) => sum + sizes.tokens(record), 0),
          chargeNanos: found.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n),
        });

        for (const { startMs: start, name, ...sums } of data) {
          const found = kept.filter(
            ({ startedAtMs, modelId }) =>
              Math.floor(startedAtMs / lengthMs) * lengthMs === start &&
              (name === undefined ? !names.includes(modelId) : modelId === name),
          );
          expect(sums).toEqual(sumOf(found));
        }
        expect(data.reduce((sum, { calls }) => sum + calls, 0)).toBe(kept.length);

        const totals = new Map<string, number>();
        for (const record of kept) {
          const { modelId } = record;
          totals.set(modelId, (totals.get(modelId) ?? 0) + sizes[measure](record));
        }
        const shown = names.map((name) => totals.get(name) ?? 0);
        const all = [...totals.values()].sort((one, other) => other - one);
        expect(shown).toEqual(all.slice(0, most));
      }),
    );
  });

  it('that would have more than a thousand steps is refused', async () => {
    const long = { fromMs: 0, toMs: 1_001 * hourMs, step: 'hour' } as const;
    const { usage } = adminOf([]);

    await expect(usage.series(long)).rejects.toMatchObject({ field: 'step' });
    await expect(usage.latencies(long)).rejects.toMatchObject({ field: 'step' });
    await expect(usage.series({ ...span, step: 'day', top: 0 })).rejects.toMatchObject({
      field: 'top',
    });
    expect(await usage.series({ ...long, toMs: 1_000 * hourMs })).toEqual({ names: [], data: [] });
  });

  it('of latencies is between the fastest and the slowest call of its step', async () => {
    await fc.assert(
      fc.asyncProperty(records, async (kept) => {
        const { data } = await adminOf(kept).usage.latencies({ ...span, step: 'day' });

        expect(data.map((row) => row.startMs)).toEqual(
          [...new Set(kept.map((call) => Math.floor(call.startedAtMs / dayMs) * dayMs))].sort(),
        );
        for (const { firstByteP50Ms = 0, firstByteP95Ms = 0, ...ends } of data) {
          const { durationP50Ms = 0, durationP95Ms = 0 } = ends;
          expect(firstByteP50Ms).toBeLessThanOrEqual(firstByteP95Ms);
          expect(durationP50Ms).toBeLessThanOrEqual(durationP95Ms);
          expect(firstByteP95Ms).toBeLessThanOrEqual(durationP95Ms);
        }
      }),
    );
  });
});

it('reports by time have the latest first, and others the most expensive', async () => {
  const { usage } = adminOf(
    [3n, 9n, 1n, 5n].map((chargeNanos, index) => {
      const startedAtMs = startMs + Math.floor(index / 2) * dayMs;
      return usageRecord({
        requestId: `r${index}`,
        modelId: `m${index}`,
        startedAtMs,
        chargeNanos,
      });
    }),
  );
  const namesOf = async (by: Parameters<typeof usage.report>[0]['by']) =>
    (await usage.report({ by, ...span })).data.map(({ names }) => names.join(' '));

  expect(await namesOf(['day', 'model'])).toEqual([
    ...['2026-02-28 m3', '2026-02-28 m2', '2026-02-27 m1', '2026-02-27 m0'],
  ]);
  expect(await namesOf('model')).toEqual(['m1', 'm3', 'm0', 'm2']);
});

it('the session has the currency and the time zone, and the CSV has units', async () => {
  const usage = memoryUsageSink();
  const costs = { chargeNanos: 1_500_000_000n, costNanos: 1_750_000_000n };
  usage.record(usageRecord({ startedAtMs: startMs, ...costs }));
  const setup = adminSetup({ usage, currency: 'USD', timeZone: 'Europe/Berlin' });
  const server = await adminServer(setup.admin);

  const session = await server.call({ path: '/session' });
  const csv = await server.call({
    path: `/usage.csv?by=month&fromMs=${span.fromMs}&toMs=${span.toMs}`,
  });
  await server.close();

  expect(JSON.parse(session.text)).toMatchObject({ currency: 'USD', timeZone: 'Europe/Berlin' });
  const [heads = '', row = ''] = csv.text.split('\r\n');
  expect(heads).toMatch(/^month,calls,.*,charge,unbooked,cost,margin,currency$/);
  expect(row).toMatch(/^2026-02,1,.*,1\.5,0,1\.75,-0\.25,USD$/);
  expect(csv.headers['content-disposition']).toContain('usage-2026-02-27-to-2026-03-02.csv');
});

it.each([
  [{ currency: 'usd' }, 'currency'],
  [{ currency: 'XXY' }, 'currency'],
  [{ timeZone: 'Mars/Olympus' }, 'timeZone'],
] as const)('%j is refused', (wrong, name) => {
  expect(() => adminSetup(wrong)).toThrow(`options.${name}`);
});
