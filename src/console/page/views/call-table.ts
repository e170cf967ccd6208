/** The list of calls: one row for each, with its times, its tokens and its charge. */
import type { PageContext } from '../context.ts';
import { type Child, el, link, timeOf } from '../dom.ts';
import { clockText, countText, durationText, exactMoney, moneyColumn } from '../format.ts';
import { type Column, table } from '../table.ts';
import type { Call, Refusal } from '../wire.ts';
import { outcomeBadge } from './call-outcome.ts';

type Row = Call | Refusal;

export function callTable(rows: readonly Row[], page: PageContext): HTMLElement {
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
