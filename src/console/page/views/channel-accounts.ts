/** Channels by account, the failing ones first: how each has served lately, and what it cost. */
import type { Account, Accounts } from '../api.ts';
import { canManage, type PageContext } from '../context.ts';
import { type Child, el, link, refill, svg } from '../dom.ts';
import { agoText, countText, durationText, moneyColumn, percentText, wordsOf } from '../format.ts';
import { type Column, empty, panel, section, table } from '../panel.ts';
import { liveRangeOf, windowOf } from '../range.ts';
import { badge, type Grouping, nameCell, stateCell, switchButtons } from './channel-parts.ts';

export function accountsPanel(page: PageContext): Grouping {
  const place = el('div', { class: 'models accounts' });
  let known: Accounts | undefined;
  const draw = (): void => {
    if (known !== undefined) refill(place, accountsOf(known, page, list.load));
  };
  const list = panel<Accounts>({
    title: 'Channels',
    what: 'accounts',
    load: (signal) => {
      const { fromMs, toMs } = windowOf(liveRangeOf(page.route().range), page.nowMs());
      const span = { fromMs: String(fromMs), toMs: String(toMs) };
      return page.api.get('/channels/accounts', span, signal);
    },
    render: (accounts) => {
      known = accounts;
      draw();
      return place;
    },
  });
  const untilMs = (): readonly number[] =>
    (known?.data ?? []).flatMap(({ models }) => models.flatMap(({ untilMs: ms }) => ms ?? []));
  return { ...list, draw, untilMs };
}

function accountsOf(accounts: Accounts, page: PageContext, reload: () => void): Child {
  const { q = '', channel } = page.route().params;
  const text = q.toLowerCase();
  const shown = accounts.data.filter(
    ({ channelId, models }) =>
      (channel === undefined || channel === channelId) &&
      [channelId, ...models.map(({ modelId }) => modelId)].some((name) =>
        name.toLowerCase().includes(text),
      ),
  );
  if (accounts.data.length === 0) return empty(el('p', {}, 'The catalog has no channels yet.'));
  if (shown.length === 0) return empty(el('p', {}, 'No account matches this search.'));
  const note = el('p', { class: 'note' }, noteOf(accounts, page));
  return section('Accounts', undefined, accountTable(shown, page, reload), note);
}

function noteOf({ source }: Accounts, page: PageContext): string {
  const used =
    source === 'log'
      ? `Calls and spend: all processes, the last ${page.route().range}.`
      : 'Calls and spend: this process, the last hour.';
  return `${used} Failures and first bytes: attempts of this process, the last hour.`;
}

function accountTable(
  rows: readonly Account[],
  page: PageContext,
  reload: () => void,
): HTMLElement {
  const nowMs = page.nowMs();
  const money = moneyColumn(rows.flatMap(({ chargeNanos, costNanos }) => [chargeNanos, costNanos]));
  return table<Account>({
    label: 'Accounts, the failing ones first',
    columns: [
      { head: 'account', kind: 'main', cell: (account) => accountCell(account, page) },
      { head: 'state', kind: 'wide', cell: (account) => stateCell(account, nowMs) },
      { head: 'failures', kind: 'wide', cell: (account) => failureCell(account, nowMs) },
      { head: 'p50', kind: 'number', cell: ({ recent }) => durationText(recent.firstByteP50Ms) },
      { head: 'p95', kind: 'number', cell: ({ recent }) => durationText(recent.firstByteP95Ms) },
      { head: 'calls', kind: 'number', cell: ({ calls }) => countText(calls) },
      {
        head: 'spend',
        kind: 'number',
        cell: ({ chargeNanos, costNanos }) => [
          money(chargeNanos),
          costNanos === null
            ? undefined
            : el('span', { class: 'below' }, `cost ${money(costNanos)}`),
        ],
      },
      ...actionColumn(page, reload),
    ],
    rows,
    keyOf: ({ channelId }) => channelId,
    rowClass: ({ state }) => (state === 'off' ? 'dim' : undefined),
  });
}

function actionColumn(page: PageContext, reload: () => void): readonly Column<Account>[] {
  if (!canManage(page)) return [];
  const cell = ({ channelId, state, models }: Account): Child => {
    const modelIds = models.map(({ modelId }) => modelId);
    return switchButtons({ channelId, state, modelIds, place: 'account' }, page, reload);
  };
  return [{ head: 'actions', kind: 'action', cell }];
}

/** Its models in one line each, which are folded if there are several. */
function accountCell({ channelId, platform, dialect, models }: Account, page: PageContext): Child {
  const below = platform ?? dialect;
  const [first] = models;
  if (models.length === 1 && first !== undefined) {
    return nameCell(channelId, `${below}, ${first.modelId}`, page);
  }
  const lines = models.map(({ modelId, state }) =>
    el('li', {}, [
      link(page.href({ view: 'channels', params: { model: modelId } }), modelId, { class: 'id' }),
      state === 'ready' ? undefined : badge(state),
    ]),
  );
  return [
    nameCell(channelId, below, page),
    el('details', { class: 'models-of' }, [
      el('summary', { 'data-focus': `models ${channelId}` }, `${models.length} models`),
      el('ul', {}, lines),
    ]),
  ];
}

function failureCell({ recent, lastFailure }: Account, nowMs: number): Child {
  const { attempts, failures, slices } = recent;
  const share = attempts === 0 ? 'no calls' : percentText(failures / attempts);
  const text = failures === 0 && attempts > 0 ? 'none' : share;
  return [
    el('span', { class: 'failures' }, [
      el('span', { class: failures > 0 ? 'bad-text' : 'hint' }, text),
      failures === 0 ? undefined : failureBars(slices),
    ]),
    lastFailure === null
      ? undefined
      : el('span', { class: 'below', title: meaningOf(lastFailure) }, [
          [wordsOf(lastFailure.reason), lastFailure.status ?? ''].join(' ').trim(),
          `, ${agoText(lastFailure.atMs, nowMs)}`,
        ]),
  ];
}

function meaningOf({ meaning, remedy }: NonNullable<Account['lastFailure']>): string {
  return [meaning, remedy].filter((text) => text !== null).join('. Remedy: ');
}

const [barPx, heightPx] = [5, 16];

/** The share of failures in each five minutes of the last hour. */
function failureBars(slices: Account['recent']['slices']): SVGSVGElement {
  const bars = slices.map(({ attempts, failures }, index) => {
    const height = attempts === 0 ? 0 : (failures / attempts) * (heightPx - 1);
    const tall = failures > 0 ? Math.max(2, height) : 1;
    const path = `M${index * barPx},${heightPx}h${barPx - 1}v${-tall}h${1 - barPx}Z`;
    return svg('path', { class: failures > 0 ? 'failed' : 'fine', d: path });
  });
  const viewBox = `0 0 ${slices.length * barPx} ${heightPx}`;
  return svg('svg', { viewBox, class: 'failure-bars', 'aria-hidden': 'true' }, ...bars);
}
