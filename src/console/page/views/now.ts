/**
 * Now: whether the gateway serves, what it refuses and why, which channels are out, and what calls
 * cost. One sentence, four figures, a chart, and what needs a person to act.
 */
import type { Attention, Bucket, Now, Severity } from '../api.ts';
import { barChart } from '../chart.ts';
import type { PageContext, View } from '../context.ts';
import { el, type IconName, icon, link, refill, timeOf } from '../dom.ts';
import {
  agoText,
  countText,
  dayText,
  minuteText,
  refusalsOf,
  sentence,
  sinceText,
  utcDayText,
} from '../format.ts';
import { empty, failure, loading, section, titledSection } from '../panel.ts';
import type { ChartData } from '../plot.ts';
import { routeOf } from '../route.ts';
import { refusalTable } from './call-facts.ts';
import { figuresOf, sinceMsOf, sumOf } from './now-figures.ts';

const outcomes = [
  { name: 'complete', color: '--complete' },
  { name: 'refused', color: '--refused' },
  { name: 'failed', color: '--failed' },
  { name: 'left', color: '--left' },
] as const;

const minuteMs = 60_000;
const dayMs = 86_400_000;

export function nowView(page: PageContext): View {
  const parts = nowParts();
  const waiting = el('div', {}, loading('the live figures'));
  return {
    node: el('div', {}, waiting, parts.node),
    show: () => {},
    update: (now) => {
      waiting.replaceChildren();
      parts.node.hidden = false;
      parts.update(now, page);
    },
    fail: (message) => refill(waiting, failure(message, page.refreshNow)),
    close: parts.close,
  };
}

function nowParts() {
  const chart = outcomeChart();
  const heading = el('h2', {}, 'Requests');
  const source = el('p', { class: 'note' });
  const headline = el('div', { class: 'sentence-place' });
  const figures = el('div', { class: 'figures' });
  const attention = el('div', { class: 'panel-body' });
  const refusals = el('div', { class: 'panel-body' });
  const refusedSince = el('span', { class: 'hint' });
  const requests = titledSection(heading, el('div', { class: 'panel-body' }, chart.node, source));
  return {
    node: el('div', { class: 'now', hidden: true }, [
      headline,
      figures,
      el('div', { class: 'split' }, requests, section('Needs attention', undefined, attention)),
      section('Refused, and why', refusedSince, refusals),
    ]),
    update: (now: Now, page: PageContext): void => {
      refill(headline, headlineOf(now, page));
      refill(figures, figuresOf(now));
      refill(heading, `Requests per ${bucketName(now)}`);
      refill(source, sourceText(now));
      chart.show(now);
      refill(attention, attentionList(now, page));
      refill(refusedSince, refusedSinceText(now));
      refill(refusals, refusalTable(now.refusals, page));
    },
    close: chart.close,
  };
}

/** Without recorded refusals, those of this process of the last hour are shown. */
function refusedSinceText(now: Now): string {
  const { source, nowMs, startedAtMs } = now;
  const isLogged = source === 'log' && sumOf(now, 'refused') !== null;
  const hourAgoMs = Math.floor(nowMs / minuteMs - 59) * minuteMs;
  const sinceMs = source === 'log' && !isLogged ? Math.max(hourAgoMs, startedAtMs) : sinceMsOf(now);
  return refusalsOf(isLogged ? 'log' : 'process', sinceText(sinceMs, nowMs));
}

/** The chart; the length of its bars decides how their times are written. */
function outcomeChart() {
  let bucketMs = minuteMs;
  const chart = barChart({
    label: 'Requests by outcome',
    series: outcomes,
    timeName: 'time',
    valueText: (value) => countText(Number.isNaN(value) ? null : value),
    tickText: (ms) => (bucketMs < dayMs ? minuteText(ms) : utcDayText(ms)),
    barText: (ms) => barText(ms, bucketMs),
  });
  return {
    node: chart.node,
    show: (now: Now): void => {
      bucketMs = now.bucketMs;
      chart.update(chartData(now.buckets));
    },
    close: chart.close,
  };
}

function chartData(buckets: readonly Bucket[]): ChartData {
  return {
    startsMs: buckets.map(({ startMs }) => startMs),
    values: outcomes.map(({ name }) => buckets.map((bucket) => bucket[name] ?? Number.NaN)),
  };
}

function bucketName({ bucketMs }: Now): string {
  if (bucketMs <= minuteMs) return 'minute';
  return bucketMs < dayMs ? 'hour' : 'day, UTC';
}

function barText(ms: number, bucketMs: number): string {
  if (bucketMs >= dayMs) return utcDayText(ms);
  return bucketMs <= minuteMs ? minuteText(ms) : `${dayText(ms)} ${minuteText(ms)}`;
}

/** The usage log knows all processes, but not what was refused before it held anything. */
function sourceText(now: Now): string | undefined {
  const { source, range } = now;
  if (source === 'log') {
    return sumOf(now, 'refused') === null
      ? 'All processes, from the usage log. It has no refused requests of this time: there ' +
          'were none, or no gateway has recordRefusals.'
      : 'All processes, from the usage log and its recorded refusals.';
  }
  const isShort = range === '15m' || range === '1h';
  return isShort
    ? undefined
    : 'This process, at most the last hour: there is no usage log to query.';
}

const kinds: Readonly<
  Record<Attention['kind'], { readonly icon: IconName; readonly word: string }>
> = {
  channel: { icon: 'bad', word: 'Channel' },
  quota: { icon: 'key', word: 'Quota' },
  doubt: { icon: 'question', word: 'In doubt' },
  store: { icon: 'store', word: 'Store' },
  refusal: { icon: 'off', word: 'Refused' },
  host: { icon: 'host', word: 'Host app' },
  settlement: { icon: 'money', word: 'Charge' },
};

/** The worst problem is the headline, and not here again. */
function attentionList({ sentence, attention, nowMs }: Now, page: PageContext): HTMLElement {
  const rest = [...sentence.slice(1), ...attention];
  if (rest.length === 0) {
    const what = worstOf({ sentence }) === 'ok' ? 'Nothing' : 'Nothing else';
    return empty(icon('ok'), el('p', {}, `${what} needs a person.`));
  }
  return el('ul', { class: 'attention' }, [
    rest.map((entry, index) => entryOf(entry, index, nowMs, page)),
  ]);
}

function entryOf(
  { kind, text, detail, href, sinceMs }: Attention,
  index: number,
  nowMs: number,
  page: PageContext,
): HTMLElement {
  const { icon: name = 'warn', word = kind } = kinds[kind] ?? {};
  return el('li', { class: `attention-${kind}` }, [
    link(
      linkOf(href, page),
      [
        icon(name),
        el('span', { class: 'attention-kind' }, word),
        el('span', { class: 'attention-text' }, [
          el('span', {}, withoutIso(text, nowMs)),
          detail === null
            ? undefined
            : el('span', { class: 'below' }, withoutIso(sentence(detail), nowMs)),
        ]),
        sinceMs === null
          ? undefined
          : el('span', { class: 'attention-since' }, timeOf(sinceMs, agoText(sinceMs, nowMs))),
      ],
      { 'data-focus': `a${index}` },
    ),
  ]);
}

/** Replaces a time of the interface, such as when a channel is back, with a readable one. */
function withoutIso(text: string, nowMs: number): string {
  return text.replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, (iso) => agoText(Date.parse(iso), nowMs));
}

export function worstOf({ sentence }: Pick<Now, 'sentence'>): Severity {
  const severities = sentence.map(({ severity }) => severity);
  if (severities.includes('bad')) return 'bad';
  return severities.includes('warn') ? 'warn' : 'ok';
}

/** The worst problem alone, in large type, with what is known about it. */
function headlineOf(now: Now, page: PageContext): HTMLElement {
  const worst = worstOf(now);
  const [first] = now.sentence;
  if (first === undefined) return el('div', {});
  const { text, detail, href, sinceMs, severity } = first;
  const since = sinceMs === null ? '' : ` First ${agoText(sinceMs, now.nowMs)}.`;
  const head =
    severity === 'ok'
      ? el('span', {}, text)
      : link(linkOf(href, page), text, { class: `clause ${severity}`, 'data-focus': 'c0' });
  return el('div', { class: `sentence ${worst}` }, [
    icon(worst),
    el('div', {}, [
      el('p', { class: 'sentence-text' }, head),
      detail === null
        ? undefined
        : el('p', { class: 'sentence-why' }, `${withoutIso(sentence(detail), now.nowMs)}${since}`),
      el('p', { class: 'sentence-more' }, moreOf(now)),
    ]),
  ]);
}

/** The places that the interface names have no range. */
function linkOf(href: string, page: PageContext): string {
  return page.href(routeOf(href, page.route().range));
}

function moreOf({ status: { runningCalls } }: Now): string {
  if (runningCalls === 0) return 'No call is running in this process.';
  const calls = runningCalls === 1 ? '1 call is' : `${countText(runningCalls)} calls are`;
  return `${calls} running in this process.`;
}
