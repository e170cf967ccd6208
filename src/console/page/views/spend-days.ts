/** What was charged on each of the last thirty days, in UTC. */
import { barChart } from '../chart.ts';
import type { PageContext } from '../context.ts';
import { el } from '../dom.ts';
import { countText, moneyText, utcDayText } from '../format.ts';
import { empty, type Panel, panel } from '../panel.ts';
import type { Usage } from '../wire.ts';

const dayMs = 86_400_000;
const dayCount = 30;
const nanosPerUnit = 1e9;

/** The chart; it does not depend on the range. */
export function dayPanel(page: PageContext): Panel {
  const chart = barChart({
    label: 'Charged per day, in UTC',
    series: [
      { name: 'booked', color: '--complete' },
      { name: 'not booked yet', color: '--refused' },
    ],
    timeName: 'day',
    valueText: (value) => moneyText(BigInt(Math.round(value * nanosPerUnit))),
    axisText: (value) => countText(value),
    tickText: utcDayText,
    barText: utcDayText,
  });
  const inner = panel<Usage>({
    title: 'Charged per day, UTC',
    what: 'the last thirty days',
    load: (signal) => {
      const toMs = (Math.floor(page.nowMs() / dayMs) + 1) * dayMs;
      const fromMs = toMs - dayCount * dayMs;
      const query = { by: 'day', fromMs: String(fromMs), toMs: String(toMs), sort: 'name' };
      return page.api.get('/usage', query, signal);
    },
    render: (usage) => {
      if (usage.data.length === 0) return empty(el('p', {}, 'There were no calls in thirty days.'));
      chart.update(dataOf(usage, page.nowMs()));
      return chart.node;
    },
  });
  return {
    ...inner,
    close: () => {
      inner.close();
      chart.close();
    },
  };
}

/** The report has no rows for days without calls. */
function dataOf({ data }: Usage, nowMs: number) {
  const rows = new Map(data.map((row) => [row.names[0], row]));
  const todayMs = Math.floor(nowMs / dayMs) * dayMs;
  const startsMs = Array.from(
    { length: dayCount },
    (_, index) => todayMs - (dayCount - 1 - index) * dayMs,
  );
  const found = startsMs.map((ms) => rows.get(new Date(ms).toISOString().slice(0, 10)));
  const units = (nanos: bigint): number => Number(nanos) / nanosPerUnit;
  return {
    startsMs,
    values: [
      found.map((row) =>
        row === undefined ? 0 : units(BigInt(row.chargeNanos) - BigInt(row.unbookedNanos)),
      ),
      found.map((row) => (row === undefined ? 0 : units(BigInt(row.unbookedNanos)))),
    ],
  };
}
