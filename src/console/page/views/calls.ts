/**
 * Calls: the search for a request id first, then filters over the list. Never their content: the
 * gateway keeps none.
 */
import type { Call, CallPage, Refusal, RefusalReason } from '../api.ts';
import type { PageContext, View } from '../context.ts';
import { type Child, el, link, refill, timeOf } from '../dom.ts';
import { searchField } from '../field.ts';
import { clockText, countText, durationText, exactMoney, moneyColumn, wordsOf } from '../format.ts';
import { type Column, empty, pager, panel, table } from '../panel.ts';
import { windowOf } from '../range.ts';
import type { Route } from '../route.ts';
import { callDrawer } from './call-drawer.ts';
import { outcomeBadge, outcomeNames, outcomeWord, refusalTable } from './call-facts.ts';

export function callsView(page: PageContext): View {
  const filters = callFilters(page);
  const pages = pager(() => list.load());
  const drawer = callDrawer(page, () => list.load());
  const list = panel<Found>({
    title: 'Calls',
    what: 'calls',
    tools: pages.node,
    load: (signal) => load(page, pages.after(), signal),
    render: (found) => {
      pages.show(found.next);
      return rowsOf(found, page);
    },
  });
  let listed = listKeyOf(page.route());
  return {
    node: el('div', {}, filters.node, list.node, drawer.node),
    show: (route) => {
      filters.show(route);
      drawer.show(route.id);
      const key = listKeyOf(route);
      if (key === listed) return;
      listed = key;
      pages.reset();
      list.load();
    },
    close: () => {
      list.close();
      drawer.close();
    },
  };
}

/** A page of the list and, if it is one of refused requests, how many there were and why. */
interface Found extends CallPage {
  readonly reasons: readonly RefusalReason[] | undefined;
}

async function load(page: PageContext, after: string | undefined, signal: AbortSignal) {
  const query = queryOf(page, after);
  const { code, outcome, keyId, modelId, fromMs } = query;
  const isRefused = (code ?? '') !== '' || outcome === 'refused';
  const [calls, reasons] = await Promise.all([
    page.api.get<CallPage>('/calls', query, signal),
    isRefused
      ? page.api.get<{ readonly data: readonly RefusalReason[] }>(
          '/refusals/reasons',
          { code, keyId, modelId, fromMs },
          signal,
        )
      : undefined,
  ]);
  return { ...calls, reasons: reasons?.data };
}

/** The drawer opens and closes over the same list. */
function listKeyOf({ range, params }: Route): string {
  return JSON.stringify([range, params]);
}

function queryOf(page: PageContext, after: string | undefined): Record<string, string | undefined> {
  const { range, params } = page.route();
  const { code, outcome, key, model, channel } = params;
  // An id is searched for in the whole log.
  const { fromMs, toMs } = windowOf(range, page.nowMs());
  const span = { fromMs: String(fromMs), toMs: String(toMs) };
  return { code, outcome, keyId: key, modelId: model, channelId: channel, ...span, after };
}

function rowsOf({ data, source, reasons }: Found, page: PageContext): Child {
  const calls =
    source === 'log' ? 'Calls of all processes, from the usage log' : 'The latest of this process';
  const refused = 'Refused requests as far as this process remembers them: the latest of each key.';
  const note = el('p', { class: 'note' }, reasons === undefined ? `${calls}. ${refused}` : refused);
  const sums = reasons === undefined ? undefined : refusalTable(reasons, page);
  if (data.length === 0 && (reasons?.length ?? 0) > 0) return [sums, note];
  if (data.length === 0) return [emptyList(page), note];
  return [sums, callTable(data, page), note];
}

function emptyList(page: PageContext): HTMLElement {
  const { params, range } = page.route();
  const { text } = windowOf(range, page.nowMs());
  const filters = Object.entries(params).map(([name, value]) => `${name} ${wordsOf(value)}`);
  if (filters.length > 0) {
    return empty(
      el('p', {}, `No call of ${text} matches: ${filters.join(', ')}.`),
      link(page.href({ view: 'calls', params: {} }), 'Clear the filters', { class: 'button' }),
    );
  }
  return empty(
    el('p', {}, `No calls: ${text}. Make one:`),
    el('pre', { class: 'code', tabindex: '0' }, el('code', {}, curlLine())),
  );
}

function curlLine(): string {
  return (
    `curl ${location.origin}/v1/chat/completions -H "authorization: Bearer $KEY" ` +
    `-H "content-type: application/json" ` +
    `-d '{"model":"…","messages":[{"role":"user","content":"Hello"}]}'`
  );
}

const texts = [
  { name: 'key', label: 'Key' },
  { name: 'model', label: 'Model' },
  { name: 'channel', label: 'Channel' },
  { name: 'code', label: 'Refusal code' },
] as const;

function callFilters(page: PageContext): Pick<View, 'node' | 'show'> {
  const fields = texts.map(({ name, label }) => ({ name, field: textField(name, label) }));
  const outcome = outcomeField();
  const clear = el('span', { class: 'clear' });
  const apply = (): void => {
    const params = Object.fromEntries(fields.map(({ name, field }) => [name, field.value.trim()]));
    page.go({ view: 'calls', params: { ...params, outcome: outcome.value } });
  };
  for (const field of [outcome, ...fields.map(({ field }) => field)]) {
    field.addEventListener('change', apply);
  }
  const labelled = fields.map(({ field }, index) => labelFor(texts[index]?.label ?? '', field));
  return {
    node: el('div', { class: 'filters' }, [
      searchForm(page),
      labelFor('Outcome', outcome),
      labelled,
      clear,
    ]),
    show: ({ params }) => {
      for (const { name, field } of fields) field.value = params[name] ?? '';
      outcome.value = params.outcome ?? '';
      const isFiltered = Object.values(params).some((value) => value !== '');
      const all = link(page.href({ view: 'calls' }), 'Clear', { 'data-focus': 'clear' });
      refill(clear, isFiltered ? all : undefined);
    },
  };
}

/** Opens one request, wherever it is in the log. */
function searchForm(page: PageContext): HTMLElement {
  const { node, input, onSearch } = searchField('Find a request by its id', 'Request id');
  onSearch(() => {
    const id = input.value.trim();
    if (id !== '') page.go({ view: 'calls', id, params: page.route().params });
  });
  return node;
}

function textField(name: string, label: string): HTMLInputElement {
  return el('input', {
    id: `filter-${name}`,
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: '256',
    placeholder: label === 'Refusal code' ? 'any code' : `any ${label.toLowerCase()}`,
  });
}

function outcomeField(): HTMLSelectElement {
  return el('select', { id: 'filter-outcome' }, [
    el('option', { value: '' }, 'any outcome'),
    outcomeNames.map((name) => el('option', { value: name }, outcomeWord(name))),
  ]);
}

function labelFor(label: string, field: HTMLElement): HTMLElement {
  return el('span', { class: 'filter' }, [
    el('label', { for: field.id, class: 'only-read' }, label),
    field,
  ]);
}

type Row = Call | Refusal;

function callTable(rows: readonly Row[], page: PageContext): HTMLElement {
  const money = moneyColumn(rows.map((row) => (row.kind === 'call' ? row.chargeNanos : null)));
  return table<Row>({
    label: 'Calls, newest first',
    columns: [...namesOf(page), ...measures, charge(money)],
    rows,
    keyOf: (row) => (row.kind === 'call' ? row.reservationId : row.requestId),
    open: ({ requestId }) => page.go(placeOf(requestId, page)),
  });
}

function placeOf(requestId: string, page: PageContext) {
  return { view: 'calls', id: requestId, params: page.route().params } as const;
}

function namesOf(page: PageContext): readonly Column<Row>[] {
  return [
    { head: 'time', cell: (row) => timeCell(row, page.nowMs()) },
    {
      head: 'request',
      kind: 'main',
      cell: ({ requestId }) =>
        link(page.href(placeOf(requestId, page)), requestId, {
          class: 'id',
          'data-focus': requestId,
        }),
    },
    { head: 'outcome', cell: outcomeBadge },
    { head: 'key', cell: ({ keyId }) => idCell(keyId) },
    { head: 'model', cell: (row) => idCell(modelOf(row)) },
    { head: 'channel', cell: (row) => idCell(row.kind === 'call' ? row.channelId : null) },
  ];
}

const measures: readonly Column<Row>[] = [
  { head: 'first byte', kind: 'number', cell: ofCall((call) => durationText(call.firstByteMs)) },
  { head: 'duration', kind: 'number', cell: ofCall((call) => durationText(call.durationMs)) },
  { head: 'tokens', kind: 'number', cell: ofCall(tokensText) },
];

function charge(money: (nanos: string) => string): Column<Row> {
  return {
    head: 'charge',
    kind: 'number',
    cell: ofCall(({ chargeNanos, booked, outcome }) => [
      el('span', { title: exactMoney(chargeNanos) }, money(chargeNanos)),
      booked || outcome === 'unknown' ? undefined : el('span', { class: 'hint' }, ' not booked'),
    ]),
  };
}

function ofCall(cell: (call: Call) => Child): (row: Row) => Child {
  return (row) => (row.kind === 'call' ? cell(row) : '–');
}

function timeCell(row: Row, nowMs: number): HTMLElement {
  const ms = row.kind === 'call' ? row.startedAtMs : row.atMs;
  return timeOf(ms, clockText(ms, nowMs));
}

/** A refused request may have named a model that there is not. */
function modelOf(row: Row): string | null {
  return row.modelId ?? (row.kind === 'refusal' ? row.requestedModel : null);
}

function idCell(id: string | null): Child {
  return id === null ? '–' : el('span', { class: 'id', title: id }, id);
}

function tokensText({ inputTokens, outputTokens }: Call): string {
  if (inputTokens === null && outputTokens === null) return '–';
  return `${countText(inputTokens)} → ${countText(outputTokens)}`;
}
