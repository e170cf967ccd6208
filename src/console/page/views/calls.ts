/**
 * Calls: the search for a request id first, then filters over the list, in which refused requests
 * are an outcome among the others. Never their content: the gateway keeps none.
 */
import type { Call, CallPage, Model, Refusal, RefusalReason } from '../api.ts';
import type { PageContext, View } from '../context.ts';
import { button, type Child, copyText, el, icon, link, timeOf } from '../dom.ts';
import { textField } from '../field.ts';
import { countText, dayText, durationText, exactMoney, moneyColumn, timeText } from '../format.ts';
import { type Column, empty, pager, panel, table } from '../panel.ts';
import { windowOf } from '../range.ts';
import type { Route } from '../route.ts';
import { callDrawer } from './call-drawer.ts';
import { outcomeBadge, refusalTable } from './call-facts.ts';
import { callFilters } from './call-filters.ts';

export function callsView(page: PageContext): View {
  const filters = callFilters(page);
  const pages = pager(() => list.load());
  const drawer = callDrawer(page, () => list.load());
  const exports = el('span', { class: 'exports' });
  const list = panel<Found>({
    title: 'Calls',
    what: 'calls',
    tools: [exports, pages.node],
    load: (signal) => load(page, pages.after(), signal),
    render: (found) => {
      pages.show(found.next);
      exports.replaceChildren(...exportsOf(page));
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

/** A page of the list, and how often requests were refused in its window, and why. */
interface Found extends CallPage {
  readonly reasons: readonly RefusalReason[];
}

async function load(page: PageContext, after: string | undefined, signal: AbortSignal) {
  const { outcome, channelId, metadata, ...query } = queryOf(page);
  const { fromMs, toMs, ...names } = query;
  // Sums of everything are those of Now; a refused request has no channel and no metadata.
  const isSummed =
    (outcome === undefined || outcome === 'refused') &&
    channelId === undefined &&
    metadata === undefined &&
    (outcome === 'refused' || Object.values(names).some((name) => name !== undefined));
  const [calls, reasons] = await Promise.all([
    page.api.get<CallPage>('/calls', { ...query, outcome, channelId, metadata, after }, signal),
    isSummed
      ? page.api.get<{ readonly data: readonly RefusalReason[] }>(
          '/refusals/reasons',
          query,
          signal,
        )
      : { data: [] },
  ]);
  return { ...calls, reasons: reasons.data };
}

/** The drawer opens and closes over the same list. */
function listKeyOf({ range, params }: Route): string {
  return JSON.stringify([range, params]);
}

/** An id is searched for in the whole log, and not by this. */
function queryOf(page: PageContext) {
  const { range, params } = page.route();
  const named = (name: string): string | undefined =>
    params[name] === '' ? undefined : params[name];
  const { fromMs, toMs } = windowOf(range, page.nowMs());
  return {
    fromMs: String(fromMs),
    toMs: String(toMs),
    keyId: named('key'),
    modelId: named('model'),
    group: named('group'),
    code: named('code'),
    channelId: named('channel'),
    outcome: named('outcome'),
    metadata: named('metadata'),
  };
}

/** Files of what is shown: of the calls, and of the counts of refused requests. */
function exportsOf(page: PageContext): readonly HTMLElement[] {
  const { outcome, code, channelId, metadata, ...query } = queryOf(page);
  const { usageRecords, refusalReports } = page.session.capabilities;
  const ofCalls = outcome !== 'refused' && code === undefined && usageRecords;
  const hasRefusals = outcome === undefined || outcome === 'refused';
  const ofRefusals =
    hasRefusals && channelId === undefined && metadata === undefined && refusalReports;
  const by = query.keyId === undefined ? 'key,code' : 'day,code';
  const files = [
    ofCalls
      ? csvLink(page, 'calls.csv', 'CSV', { ...query, outcome, channelId, metadata })
      : undefined,
    ofRefusals
      ? csvLink(page, 'refusals.csv', 'CSV of refusals', { ...query, code, by })
      : undefined,
  ];
  return files.filter((file) => file !== undefined);
}

function csvLink(
  page: PageContext,
  file: string,
  label: string,
  query: Readonly<Record<string, string | undefined>>,
): HTMLElement {
  const url = page.api.urlOf(`/${file}`, query);
  return link(url, [icon('download'), label], { class: 'button', download: file });
}

function rowsOf({ data, source, reasons, next }: Found, page: PageContext): Child {
  const { outcome, code } = queryOf(page);
  const isRefused = outcome === 'refused' || code !== undefined;
  const { text } = windowOf(page.route().range, page.nowMs());
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const calls =
    source === 'log' ? 'calls of all processes, from the usage log' : 'the latest of this process';
  const refused = 'refused requests as far as this process remembers them (the latest of each key)';
  const parts = isRefused ? refused : `${calls}; ${refused}`;
  const note = el('p', { class: 'note' }, `Of ${text}: ${parts}. Times are of ${timeZone}.`);
  const sums = reasons.length === 0 ? undefined : refusalTable(reasons, page);
  if (data.length === 0 && next === null && sums !== undefined) return [sums, note];
  if (data.length === 0) return [emptyList(page), note];
  return [sums, callTable(data, page), note];
}

function emptyList(page: PageContext): HTMLElement {
  const { params, range } = page.route();
  const { text } = windowOf(range, page.nowMs());
  const filters = Object.entries(params).map(([name, value]) => `${name} ${value}`);
  if (filters.length === 0) return firstCall(page, `No calls: ${text}. Make one:`);
  return empty(
    el('p', {}, `No call of ${text} matches: ${filters.join(', ')}.`),
    link(page.href({ view: 'calls', params: {} }), 'Clear the filters', { class: 'button' }),
  );
}

type Row = Call | Refusal;

function callTable(rows: readonly Row[], page: PageContext): HTMLElement {
  const money = moneyColumn(rows.map((row) => (row.kind === 'call' ? row.chargeNanos : null)));
  const hasImages = rows.some((row) => row.kind === 'call' && (row.images ?? 0) > 0);
  return table<Row>({
    label: 'Calls, newest first',
    look: 'calls',
    columns: [...namesOf(page), ...measures, ...(hasImages ? [images] : []), charge(money)],
    rows,
    keyOf: (row) => (row.kind === 'call' ? row.reservationId : row.requestId),
    open: ({ requestId }) => page.go(placeOf(requestId, page)),
    group: (row) => dayText(timeOfRow(row)),
  });
}

function placeOf(requestId: string, page: PageContext) {
  return { view: 'calls', id: requestId, params: page.route().params } as const;
}

function namesOf(page: PageContext): readonly Column<Row>[] {
  const { params } = page.route();
  const of = (name: string, value: string | null): Child =>
    idLink(value, page.href({ view: 'calls', params: { ...params, [name]: value ?? '' } }));
  return [
    { head: 'time', cell: (row) => timeOf(timeOfRow(row), timeText(timeOfRow(row))) },
    { head: 'request', kind: 'main', cell: ({ requestId }) => requestCell(requestId, page) },
    { head: 'outcome', cell: outcomeBadge },
    {
      head: 'key',
      cell: ({ keyId }) => idLink(keyId, page.href({ view: 'keys', id: keyId ?? undefined })),
    },
    { head: 'model', cell: (row) => of('model', modelOf(row)) },
    {
      head: 'channel',
      cell: (row) => {
        const channel = row.kind === 'call' ? row.channelId : null;
        return idLink(channel, page.href({ view: 'channels', params: { channel: channel ?? '' } }));
      },
    },
  ];
}

const measures: readonly Column<Row>[] = [
  { head: 'first byte', kind: 'number', cell: ofCall((call) => durationText(call.firstByteMs)) },
  { head: 'duration', kind: 'number', cell: ofCall((call) => durationText(call.durationMs)) },
  { head: 'tokens', kind: 'number', cell: ofCall(tokensText) },
];
const images: Column<Row> = {
  head: 'images',
  kind: 'number',
  cell: ofCall((call) => countText(call.images)),
};

function charge(money: (nanos: string) => string): Column<Row> {
  return {
    head: 'charge',
    kind: 'number',
    cell: ofCall(({ chargeNanos, booked, outcome }) => [
      el('span', { title: exactMoney(chargeNanos) }, money(chargeNanos)),
      booked || outcome === 'unknown' ? undefined : el('span', { class: 'below' }, 'not booked'),
    ]),
  };
}

function ofCall(cell: (call: Call) => Child): (row: Row) => Child {
  return (row) => (row.kind === 'call' ? cell(row) : '–');
}

function timeOfRow(row: Row): number {
  return row.kind === 'call' ? row.startedAtMs : row.atMs;
}

/** A refused request may have named a model that there is not. */
function modelOf(row: Row): string | null {
  return row.modelId ?? (row.kind === 'refusal' ? row.requestedModel : null);
}

/** The id, and a button that copies it, which appears with the pointer or the focus. */
function requestCell(requestId: string, page: PageContext): Child {
  const copy = button(icon('copy'), () => copyText(requestId, 'The request id', page.announce), {
    class: 'quiet copy',
    'aria-label': `Copy ${requestId}`,
  });
  const href = page.href(placeOf(requestId, page));
  const shown = link(href, middleCut(requestId), {
    ...{ class: 'id', title: requestId, 'data-focus': requestId },
    'aria-label': requestId,
  });
  return el('span', { class: 'copied' }, shown, copy);
}

function idLink(id: string | null, href: string): Child {
  if (id === null) return '–';
  const attributes = { class: 'id', title: id, 'aria-label': id };
  return link(href, middleCut(id), attributes);
}

const longest = 22;

/** Ids differ at both ends, so the middle is left out: `req_0198c…6b3f09`. */
function middleCut(id: string): string {
  return id.length <= longest ? id : `${id.slice(0, 11)}…${id.slice(-8)}`;
}

function tokensText({ inputTokens, outputTokens }: Call): string {
  if (inputTokens === null && outputTokens === null) return '–';
  return `${countText(inputTokens)} → ${countText(outputTokens)}`;
}

/**
 * How to make a first call: a line for a shell, with a model of the catalog. The key that is
 * written here stays in the page, and goes into the line only.
 */
function firstCall(page: PageContext, text: string): HTMLElement {
  const key = textField('secret', 'Your key', {
    placeholder: '$KEY',
    hint: 'Stays in this page. Left empty, the line reads the variable KEY.',
  });
  const code = el('code', {});
  let model = 'MODEL';
  const line = (): string => curlLine(model, key.value() === '' ? '$KEY' : key.value());
  const draw = (): void => {
    code.textContent = line();
  };
  key.input.addEventListener('input', draw);
  draw();
  void firstModel(page).then((found) => {
    model = found ?? model;
    draw();
  });
  const copy = button([icon('copy'), 'Copy'], () => copyText(line(), 'The line', page.announce), {
    'data-focus': 'copy-line',
  });
  return empty(
    el('p', {}, text),
    el(
      'div',
      { class: 'first-call' },
      key.node,
      el('pre', { class: 'code', tabindex: '0' }, code),
      copy,
    ),
  );
}

async function firstModel({ api, session }: PageContext): Promise<string | undefined> {
  if (!session.capabilities.listModels) return undefined;
  try {
    const { data } = await api.get<{ readonly data: readonly Model[] }>('/channels');
    return data.map(({ modelId }) => modelId).find((id) => !id.includes('*'));
  } catch {
    return undefined;
  }
}

function curlLine(model: string, key: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return [
    `curl ${location.origin}/v1/chat/completions \\`,
    `  -H "authorization: Bearer ${key}" \\`,
    '  -H "content-type: application/json" \\',
    `  -d '${body.replaceAll("'", "'\\''")}'`,
  ].join('\n');
}
