// suite: quick
/** In an outage, the failures of a port have one line a second, with their number. */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { GatewayEvent } from '../../src/events/events.ts';
import { logEvents } from '../../src/events/log.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const failed = (port: 'keys' | 'quota', code: string, requestId: string): GatewayEvent => ({
  type: 'port_failed',
  requestId,
  port,
  operation: 'find',
  reason: 'StoreUnavailable',
  code,
});

const step = fc.record({
  port: fc.constantFrom('keys' as const, 'quota' as const),
  code: fc.constantFrom('57P01', 'ECONNREFUSED'),
  waitMs: fc.constantFrom(0, 0, 0, 10, 400, 1_000),
});

it('every failure is counted by exactly one line, at most one a second for each cause', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 200, size: 'max' }), (steps) => {
      const lines: { name: string; atMs: number; repeats: number }[] = [];
      let nowMs = 0;
      const listener = logEvents({
        log: ({ port, code, repeats = 1 }: Record<string, unknown>) =>
          lines.push({ name: `${port} ${code}`, atMs: nowMs, repeats: Number(repeats) }),
      });
      const seen = new Map<string, number>();
      for (const [index, { port, code, waitMs }] of steps.entries()) {
        vi.advanceTimersByTime(waitMs);
        nowMs += waitMs;
        listener(failed(port, code, `r${index}`));
        seen.set(`${port} ${code}`, (seen.get(`${port} ${code}`) ?? 0) + 1);
      }
      vi.advanceTimersByTime(1_000);
      nowMs += 1_000;
      // The next failure of each cause has the number of those that had no line.
      for (const name of seen.keys()) {
        const [port, code = ''] = name.split(' ');
        listener(failed(port === 'keys' ? 'keys' : 'quota', code, 'last'));
        const own = lines.filter((line) => line.name === name);
        expect(own.reduce((sum, { repeats }) => sum + repeats, 0)).toBe((seen.get(name) ?? 0) + 1);
        for (const [at, line] of own.entries()) {
          if (at > 0) expect(line.atMs - (own[at - 1]?.atMs ?? 0)).toBeGreaterThanOrEqual(1_000);
        }
      }
    }),
  );
});

it('each refused request has its line', () => {
  const lines: unknown[] = [];
  const listener = logEvents({ log: (line) => lines.push(line) });
  const names = { keyId: undefined, group: undefined, protocol: undefined, modelId: undefined };
  for (let request = 0; request < 5; request += 1) {
    const refused = {
      code: 'store_unavailable',
      reason: 'quota_unavailable',
      status: 503,
    } as const;
    listener({ type: 'call_refused', requestId: `r${request}`, ...names, ...refused });
  }

  expect(lines).toHaveLength(5);
});
