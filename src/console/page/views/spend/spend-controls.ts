/** What the spend is grouped by and what its chart measures, which are in the URL. */
import type { NamesReply } from '../../api.ts';
import type { PageContext, View } from '../../context.ts';
import { el } from '../../dom.ts';
import { type DateRange, dayOf, type Window, windowOf } from '../../range.ts';
import type { Route } from '../../route.ts';

const usual = [
  ...(['model', 'key', 'group', 'channel', 'outcome'] as const),
  ...(['hour', 'day', 'month'] as const),
] as const;
const metadata = 'metadata.';

export function groupingsOf({ params }: Route) {
  const by = known(params.by) ?? 'model';
  const second = known(params.second);
  return { by, second: second === by ? undefined : second };
}

function known(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const isMetadata = name.startsWith(metadata) && name.length > metadata.length;
  return isMetadata ? name : usual.find((grouping) => grouping === name);
}

export function groupingControls(page: PageContext): Pick<View, 'node' | 'show'> {
  const by = grouping('by', 'by');
  const second = grouping('second', 'then by');
  const names = page.api.get<NamesReply>('/names', { of: 'metadata' });
  // Without them a name can be written.
  void names.then(({ data }) => [by, second].map(({ offer }) => offer(data))).catch(() => {});
  const apply = (): void => {
    const { params } = page.route();
    page.go({ view: 'spend', params: { ...params, by: by.value(), second: second.value() } });
  };
  by.onChange(apply);
  second.onChange(apply);
  return {
    node: el('div', { class: 'groupings' }, by.node, second.node),
    show: (route) => {
      const shown = groupingsOf(route);
      by.show(shown.by);
      second.show(shown.second ?? '');
    },
  };
}

function grouping(name: string, label: string) {
  const select = el('select', { id: `grouping-${name}` }, [
    name === 'second' ? el('option', { value: '' }, 'nothing else') : undefined,
    usual.map((value) => el('option', { value }, value)),
    el('option', { value: metadata }, 'metadata …'),
  ]);
  const field = el('input', {
    'aria-label': `Name of the metadata, ${label}`,
    placeholder: 'name',
    maxlength: '128',
    autocomplete: 'off',
    hidden: true,
  });
  const value = (): string =>
    select.value === metadata ? `${metadata}${field.value.trim()}` : select.value;
  const show = (chosen: string): void => {
    const isOther = ![...select.options].some((option) => option.value === chosen);
    select.value = isOther ? metadata : chosen;
    field.hidden = !isOther;
    field.value = isOther ? chosen.slice(metadata.length) : '';
  };
  return {
    node: el('span', { class: 'grouping' }, el('label', { for: select.id }, label), select, field),
    value,
    show,
    /** Adds these names of metadata to the choice. */
    offer: (names: readonly string[]): void => {
      const values = names.map((one) => `${metadata}${one}`);
      select.lastElementChild?.before(...values.map((one) => el('option', { value: one }, one)));
      if (document.activeElement !== field) show(value());
    },
    onChange: (apply: () => void) => {
      field.addEventListener('change', apply);
      select.addEventListener('change', () => {
        field.hidden = select.value !== metadata;
        if (field.hidden) apply();
        else field.focus();
      });
    },
  };
}

/** What the chart shows. */
export const measures = [
  ['charge', 'charged'],
  ['calls', 'calls'],
  ['tokens', 'tokens'],
  ['first-byte', 'time to the first byte'],
  ['duration', 'duration'],
] as const;

export type Measure = (typeof measures)[number][0];

export function measureOf({ params }: Route): Measure {
  return measures.find(([name]) => name === params.measure)?.[0] ?? 'charge';
}

export function measureControl(page: PageContext): Pick<View, 'node' | 'show'> {
  const select = el('select', { id: 'measure', 'data-focus': 'measure' }, [
    measures.map(([value, text]) => el('option', { value }, text)),
  ]);
  select.addEventListener('change', () => {
    page.go({ view: 'spend', params: { ...page.route().params, measure: select.value } });
  });
  return {
    node: el('span', { class: 'grouping' }, el('label', { for: 'measure' }, 'show'), select),
    show: (route) => {
      select.value = measureOf(route);
    },
  };
}

/** The calls that the report is about, as parameters of the interface. */
export function selectionOf({ params }: Route): Record<string, string | undefined> {
  const { key, model, channel, outcome, group } = params;
  return { keyId: key, modelId: model, channelId: channel, outcome, group };
}

/** The parameters of a window. */
export function spanOf({ fromMs, toMs }: Window): Record<string, string> {
  return { fromMs: String(fromMs), toMs: String(toMs) };
}

export function shownWindow(page: PageContext): Window {
  return windowOf(page.route().range, page.nowMs());
}

const timeGroupings: readonly string[] = ['hour', 'day', 'month'];
/** The groupings by which calls can be listed. */
const filters: readonly string[] = ['key', 'model', 'channel', 'outcome'];

export function isTime(grouping: string): boolean {
  return timeGroupings.includes(grouping);
}

/** The calls of a row or a bar: its names as filters, and its day or month as the range. */
export function callsHref(
  page: PageContext,
  names: readonly (readonly [grouping: string, name: string])[],
): string | undefined {
  const { params: shown, range } = page.route();
  const params: Record<string, string> = {};
  for (const name of filters) if (shown[name] !== undefined) params[name] = shown[name];
  let span = range;
  for (const [grouping, name] of names) {
    if (isTime(grouping)) span = rangeOf(grouping, name);
    else if (filters.includes(grouping) && name !== '') params[grouping] = name;
    else return undefined;
  }
  return page.href({ view: 'calls', params, range: span });
}

/** An hour is shown with its day, because ranges of calls are whole days. */
function rangeOf(grouping: string, name: string): DateRange {
  const day = name.slice(0, 10);
  if (grouping !== 'month') return `${day}..${day}`;
  const [year, month] = name.split('-').map(Number);
  return `${name}-01..${dayOf(Date.UTC(year ?? 0, month ?? 1, 0))}`;
}
