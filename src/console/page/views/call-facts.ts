/**
 * What is known about a request: its key and model, what was held and charged, and how it ended, as
 * a word and an icon: many people can’t tell the colours apart.
 */

import type { Call, CallDetail, Refusal, RefusalCount, RefusalReason } from '../api.ts';
import { shareBar, shareCell } from '../chart.ts';
import type { PageContext } from '../context.ts';
import { type Child, el, type IconName, icon, link, timeOf } from '../dom.ts';
import {
  agoText,
  clockText,
  countText,
  durationText,
  exactMoney,
  moneyText,
  refusalsOf,
  sentence,
  shareOf,
  sinceText,
  wordsOf,
} from '../format.ts';
import { empty, factList, table } from '../panel.ts';

export function callMoney(call: CallDetail): HTMLElement {
  const { heldNanos, chargeNanos, costNanos, booked, basis, isInDoubt } = call;
  const margin = costNanos === null ? null : BigInt(chargeNanos) - BigInt(costNanos);
  return el('section', { class: 'money' }, [
    el('h3', {}, 'Held and charged'),
    el('div', { class: 'held-charged' }, [
      amountOf('held', heldNanos),
      el('span', { class: 'arrow', 'aria-hidden': 'true' }, '→'),
      amountOf(isInDoubt ? 'charged so far' : 'charged', chargeNanos),
      costNanos === null ? undefined : amountOf('your cost', costNanos),
      margin === null ? undefined : amountOf('margin', margin),
    ]),
    shareBar(shareOf(chargeNanos, heldNanos), '--complete'),
    el('p', { class: 'hint' }, `${bookedText(booked, isInDoubt)}, by ${basisText(basis)}.`),
  ]);
}

function amountOf(name: string, nanos: string | bigint): HTMLElement {
  return el('span', { class: 'amount' }, [
    el('b', { title: exactMoney(nanos) }, moneyText(nanos)),
    el('span', { class: 'hint' }, name),
  ]);
}

function bookedText(booked: boolean, isInDoubt: boolean): string {
  if (isInDoubt) return 'Held until an operator says whether it ran';
  return booked
    ? 'Booked in the quota store'
    : 'Not booked yet: the quota store has not accepted it';
}

function basisText(basis: string): string {
  const texts: Readonly<Record<string, string>> = {
    usage: 'the usage that the upstream reported',
    counted: 'content that the gateway counted',
    estimate: 'an estimate',
    policy: 'the charge policy',
  };
  return texts[basis] ?? basis;
}

export function callFacts(call: CallDetail, page: PageContext): Child {
  const { keyId, group, modelId, upstreamModel, channelId, startedAtMs } = call;
  const filter = (name: string, value: string): Child =>
    link(page.href({ view: 'calls', params: { [name]: value } }), value, { class: 'id' });
  return [
    factList('Request', [
      ['key', filter('key', keyId)],
      ['group', group],
      ['model', filter('model', modelId)],
      ['upstream model', upstreamModel ?? undefined],
      ['channel', channelId === null ? undefined : filter('channel', channelId)],
      ['protocol', `${call.protocol}${call.streamed ? ', streamed' : ''}`],
      ['status', String(call.status)],
      ['started', timeOf(startedAtMs, clockText(startedAtMs, page.nowMs()))],
      ['first byte', durationText(call.firstByteMs)],
      ['duration', durationText(call.durationMs)],
      ['input tokens', countText(call.inputTokens)],
      ['output tokens', countText(call.outputTokens)],
      ['hold', el('span', { class: 'id' }, call.reservationId)],
      ['revision', call.revision > 1 ? String(call.revision) : undefined],
    ]),
    factList(
      'Held on',
      call.lines.map(({ subject, period, heldNanos }) => [
        period === '' ? subject : `${subject}, ${period}`,
        moneyText(heldNanos),
      ]),
    ),
    metadataOf(call.metadata),
  ];
}

export function metadataOf(metadata: Readonly<Record<string, string>>): Child {
  const entries = Object.entries(metadata);
  return entries.length === 0 ? undefined : factList('Metadata', entries);
}

export function refusalFacts(refusal: Refusal, page: PageContext): HTMLElement {
  const { atMs, keyId, group, modelId, protocol, status, code, reason } = refusal;
  const { limit, param, path, requestedModel } = refusal;
  return factList('Refused before anything was held', [
    ['code', code],
    ['reason', reason === null ? undefined : wordsOf(reason)],
    ['status', String(status)],
    ['key', keyId ?? 'not known'],
    ['group', group ?? undefined],
    ['model', modelId ?? requestedModel ?? 'not known'],
    ['limit', limit ?? undefined],
    ['member', param ?? undefined],
    ['path', path ?? undefined],
    ['protocol', protocol ?? undefined],
    ['time', timeOf(atMs, clockText(atMs, page.nowMs()))],
  ]);
}

type Tone = 'ok' | 'warn' | 'bad' | 'off';

interface Look {
  readonly tone: Tone;
  readonly icon: IconName;
}

const looks: Readonly<Record<string, Look>> = {
  complete: { tone: 'ok', icon: 'ok' },
  not_run: { tone: 'bad', icon: 'bad' },
  truncated: { tone: 'bad', icon: 'bad' },
  broken: { tone: 'bad', icon: 'bad' },
  cut: { tone: 'bad', icon: 'bad' },
  caller_left: { tone: 'off', icon: 'next' },
  unknown: { tone: 'warn', icon: 'question' },
};

const refusalLook: Look = { tone: 'warn', icon: 'off' };
/** A call that may have run, and whose hold has ended: charged nothing, or by the operator. */
const failedLook: Look = { tone: 'bad', icon: 'bad' };

/** What each outcome means. */
export const outcomeHints: Readonly<Record<string, string>> = {
  complete: 'the caller got the whole reply',
  caller_left: 'the caller disconnected before the end',
  refused: 'before anything was held',
  not_run: 'no upstream ran it',
  truncated: 'the upstream ended the reply early',
  broken: 'the reply failed on its way',
  cut: 'the gateway ended the reply',
  unknown: 'nobody saw how it ended',
};

export function outcomeWord(outcome: string): string {
  return outcome === 'unknown' ? 'failed or in doubt' : wordsOf(outcome);
}

export function outcomeBadge(row: Call | Refusal): Child {
  const { tone, icon: name, word } = badgeOf(row);
  const { reason, status } = row;
  const more = [reason === null ? '' : wordsOf(reason), status === 200 ? '' : String(status)];
  return el('span', { class: 'outcome' }, [
    el('span', { class: `badge badge-${tone}`, title: hintOf(row) }, icon(name), word),
    el('span', { class: 'reason' }, more.filter((text) => text !== '').join(', ')),
  ]);
}

function hintOf(row: Call | Refusal): string | undefined {
  return row.kind === 'refusal' ? (row.meaning ?? undefined) : outcomeHints[row.outcome];
}

function badgeOf(row: Call | Refusal): Look & { readonly word: string } {
  if (row.kind === 'refusal') return { ...refusalLook, word: row.code };
  const { outcome, booked } = row;
  const look = looks[outcome] ?? { tone: 'off', icon: 'question' };
  if (outcome !== 'unknown') {
    const isFailed = look.tone === 'bad';
    return { ...look, word: isFailed ? `failed › ${wordsOf(outcome)}` : wordsOf(outcome) };
  }
  return booked ? { ...failedLook, word: 'failed' } : { ...look, word: 'in doubt' };
}

const shownRefusals = 12;

export function refusalTable(
  refusals: readonly (RefusalCount | RefusalReason)[],
  page: PageContext,
): HTMLElement {
  if (refusals.length === 0) return empty(el('p', {}, 'Nothing was refused in this time.'));
  const total = refusals.reduce((sum, { count }) => sum + count, 0);
  const { view, params } = page.route();
  const filters = view === 'calls' ? params : {};
  return table<RefusalCount | RefusalReason>({
    label: 'Refusals by code and reason',
    columns: [
      {
        head: 'code',
        cell: ({ code }) => link(page.href({ view: 'calls', params: { ...filters, code } }), code),
      },
      { head: 'why, and what to do', kind: 'wide', cell: whyCell },
      {
        head: 'requests',
        kind: 'number',
        cell: (row) => [
          countText(row.count),
          'source' in row
            ? el('span', { class: 'below' }, countedText(row, page.nowMs()))
            : undefined,
        ],
      },
      { head: 'share', kind: 'share', cell: ({ count }) => shareCell(count / total, '--refused') },
    ],
    rows: refusals.slice(0, shownRefusals),
    keyOf: ({ code, reason }) => `${code} ${reason}`,
  });
}

function whyCell({ code, reason, detail, meaning, remedy }: RefusalCount): Child {
  return [
    el('span', {}, sentence(meaning ?? wordsOf(reason ?? code))),
    remedy === null ? undefined : el('span', { class: 'below' }, sentence(remedy)),
    detail === null
      ? undefined
      : el('span', { class: 'below' }, 'the latest: ', el('span', { class: 'id' }, detail)),
  ];
}

function countedText({ source, sinceMs, lastMs }: RefusalReason, nowMs: number): string {
  const place = source === 'log' ? ' in this process' : '';
  const last = lastMs === null ? '' : `; last ${agoText(lastMs, nowMs)}${place}`;
  return `${refusalsOf(source, sinceText(sinceMs, nowMs))}${last}`;
}

/** The same as a short list; `remedyFor` may offer what to do at once. */
export function refusalList(
  refusals: readonly RefusalReason[],
  page: PageContext,
  remedyFor: (refusal: RefusalReason) => Child,
): HTMLElement {
  return el('ul', { class: 'refused' }, [
    refusals
      .slice(0, shownRefusals)
      .map((refusal) =>
        el('li', {}, [
          el('p', {}, el('b', {}, `${countText(refusal.count)} × `), el('b', {}, refusal.code)),
          el('p', {}, whyCell(refusal)),
          el('p', { class: 'hint' }, countedText(refusal, page.nowMs())),
          remedyFor(refusal),
        ]),
      ),
  ]);
}
