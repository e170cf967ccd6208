// suite: quick
/** When a channel is reported out and back, for any course of its health. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ChannelWatch } from '../../src/notify/notify.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import type { ChannelStatus } from '../../src/upstream/channel-status.ts';

const ready = { state: 'ready', reason: undefined, untilMs: undefined } as const;
const open = { state: 'open', reason: 'connect_refused', untilMs: undefined } as const;

const health = fc.constantFrom<Partial<ChannelStatus>>(
  ...([{}, open, { state: 'refused' }, { state: 'off' }, { state: 'deprioritized' }] as const).map(
    asHealth,
  ),
  { models: [{ upstreamModel: 'm', ...open }] },
);
/** States of a channel, each with its duration in seconds. */
const course = fc.array(fc.tuple(health, fc.integer({ min: 1, max: 900 })), { maxLength: 25 });

it('reports out and back alternately, each once in ten minutes, and the truth in the end', () => {
  fc.assert(
    fc.property(course, (spells) => {
      const clock = fakeClock();
      let status = statusOf({});
      const reports: { readonly change: string; readonly atMs: number; readonly isOut: boolean }[] =
        [];
      const watch = new ChannelWatch({
        clock,
        statuses: () => [status],
        report: (change, reported) =>
          reports.push({ change, atMs: clock.now(), isOut: isOut(reported) }),
      });
      for (const [change, seconds] of spells) {
        status = statusOf(change);
        watch.changed(status.channelId);
        clock.advance(seconds * 1_000);
      }
      clock.advance(700_000);

      const changes = reports.map(({ change }) => change);
      const alternating = changes.map((_, at) => (at % 2 ? 'channel.back' : 'channel.out'));
      expect(changes).toEqual(alternating);
      const spans = reports.map(({ change, atMs }) => `${change} ${Math.floor(atMs / 600_000)}`);
      expect(new Set(spans).size).toBe(spans.length);
      for (const { change, isOut: wasOut } of reports)
        expect(wasOut).toBe(change === 'channel.out');
      if (status.state !== 'off') expect(changes.at(-1) === 'channel.out').toBe(isOut(status));
      watch.stop();
    }),
    { numRuns: 500 },
  );
});

it('does not report a channel that recovers within a minute', () => {
  const clock = fakeClock();
  let status = statusOf(open);
  const reports: string[] = [];
  const watch = new ChannelWatch({
    ...{ clock, statuses: () => [status] },
    report: (change) => reports.push(change),
  });

  watch.changed('openai-1');
  clock.advance(59_000);
  status = statusOf({});
  clock.advance(600_000);
  expect(reports).toEqual([]);

  status = statusOf({ state: 'refused' });
  watch.changed('openai-1');
  clock.advance(1_000);
  expect(reports).toEqual(['channel.out']);
  watch.stop();
});

function asHealth(change: Partial<ChannelStatus>): Partial<ChannelStatus> {
  return change;
}

function statusOf(change: Partial<ChannelStatus>): ChannelStatus {
  return { channelId: 'openai-1', inFlight: 0, models: [], accounts: [], ...ready, ...change };
}

function isOut({ state, models }: ChannelStatus): boolean {
  return state === 'open' || state === 'refused' || models.length > 0;
}
