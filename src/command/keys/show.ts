/** `tollgate keys list` and `tollgate keys show`: what keys may do, have used, and were refused. */

import type { RefusalReason } from '../../admin/calls/refusals.ts';
import { given as stated } from '../../admin/deps.ts';
import type { AdminKeys } from '../../admin/keys/keys.ts';
import type { KeyListQuery } from '../../admin/keys/list.ts';
import type { KeyBalance, KeySummary, SubjectBalance } from '../../admin/keys/summary.ts';
import { rateLinesOf, rateText } from '../../admin/keys/texts.ts';
import { pagesOf } from '../../admin/pages.ts';
import { maxNanos } from '../../money.ts';
import { type Command, configOption, type Given, usageError } from '../command.ts';
import { type CountProgress, numberColumn, printJson, progress, table } from '../output.ts';
import { idIn, keyCommand, type Opened, shownKey } from './key-command.ts';

/** The orders of the list, each with its heading's meaning. */
const orders = ['used', 'left', 'last-used', 'id'] as const;

type Order = (typeof orders)[number];

export const list: Command = keyCommand({
  name: 'keys list',
  summary: 'list keys with what they have used',
  options: {
    find: {
      value: 'TEXT',
      text: 'only keys whose id, group, owner or metadata contains it, in any case',
    },
    group: { value: 'NAME', text: 'only the keys of this group' },
    owner: { value: 'ID', text: 'only the keys of this owner' },
    disabled: { text: 'only disabled keys' },
    sort: {
      value: 'ORDER',
      text: 'used (most first), left (least first), last-used (latest first) or id; default: used',
    },
    config: configOption,
  },
  about: 'Lists keys with their limits, and what is used, held and left in the current period.',
  examples: [
    'npx tollgate keys list --find user-7@example.com',
    'npx tollgate keys list --owner team-search --sort left',
  ],
  readsUsage: true,
  task: (given) => {
    const { around, json, text } = given;
    const order = orderIn(given);
    const disabled = given.has('disabled') ? true : undefined;
    const query = stated({
      search: text('find'),
      group: text('group'),
      owner: text('owner'),
      disabled,
    });
    return async (opened) => {
      const all = sorted(await shownKeys(given, opened, query), order);
      const none =
        Object.keys(query).length > 0
          ? 'No key matches. Leave out --find, --group, --owner or --disabled to see more.'
          : 'No keys are stored here. npx tollgate keys issue makes one.';
      if (json) printJson(around, { data: all });
      else around.out(keyTable(all, around.clock.now(), none));
    };
  },
});

function orderIn({ text }: Given): Order {
  const named = text('sort') ?? 'used';
  const order = orders.find((known) => known === named);
  if (order === undefined) throw usageError(`--sort must be one of ${orders.join(', ')}.`);
  return order;
}

/** The keys that a query selects, as the command shows them. */
export async function shownKeys(
  given: Given,
  opened: Opened,
  query: KeyListQuery,
): Promise<readonly KeySummary[]> {
  const found = await progress(given, 'Reading keys', (count) =>
    allKeys(opened.admin.keys, query, count),
  );
  return found.map((key) => shownKey(key, opened));
}

async function allKeys(
  keys: AdminKeys,
  query: KeyListQuery,
  count: CountProgress,
): Promise<readonly KeySummary[]> {
  const all: KeySummary[] = [];
  for await (const { data } of pagesOf((page) => keys.list({ ...query, ...page }))) {
    all.push(...data);
    count(all.length);
  }
  return all;
}

/** Keys of which it is not known come last. */
function sorted(keys: readonly KeySummary[], order: Order): readonly KeySummary[] {
  const rankOf = (key: KeySummary): bigint | undefined => {
    const main = mainOf(key);
    if (order === 'used') return main && -main.usedNanos;
    if (order === 'left') return main?.remainingNanos;
    return key.lastUsedMs === undefined ? undefined : -BigInt(Math.floor(key.lastUsedMs));
  };
  if (order === 'id') return keys;
  return keys.toSorted((one, other) => {
    const [first, second] = [rankOf(one), rankOf(other)];
    if (first === undefined || second === undefined) {
      return Number(first === undefined) - Number(second === undefined);
    }
    return first < second ? -1 : Number(first > second);
  });
}

function mainOf({ balances }: KeySummary): KeyBalance | undefined {
  return balances?.find(({ isMain }) => isMain);
}

export function keyTable(keys: readonly KeySummary[], nowMs: number, none = ''): string {
  const main = keys.map(mainOf);
  const amounts = amountCells(main);
  return table(
    ['KEY', 'OWNER', 'GROUP', 'STATE', 'PERIOD', ...amountHeads, 'LAST USED', 'METADATA'],
    keys.map((key, index) => [
      ...[key.id, key.owner?.id ?? '-', key.group, stateOf(key, nowMs), periodText(main[index])],
      ...(amounts[index] ?? []),
      ...[timeText(key.lastUsedMs), metadataText(key.metadata)],
    ]),
    none,
  );
}

export const amountHeads = [' LIMIT', ' USED', ' HELD', ' LEFT'] as const;

/** The amounts of each balance; the budget of an owner without a limit has none, and no rest. */
export function amountCells(
  balances: readonly (SubjectBalance | undefined)[],
): readonly (readonly string[])[] {
  const isLimited = ({ limitNanos, extraNanos }: SubjectBalance): boolean =>
    limitNanos - extraNanos < maxNanos;
  const limited = balances.map((one) => (one !== undefined && isLimited(one) ? one : undefined));
  const columns = [
    limited.map((balance) => balance?.limitNanos),
    balances.map((balance) => balance?.usedNanos),
    balances.map((balance) => balance?.heldNanos),
    limited.map((balance) => balance?.remainingNanos),
  ].map(numberColumn);
  return balances.map((_, index) => columns.map((column) => column[index] ?? ''));
}

function stateOf(
  { disabled, owner, expiresAtMs, isGroupServed }: KeySummary,
  nowMs: number,
): string {
  if (disabled) return 'disabled';
  if (owner?.disabled === true) return 'owner disabled';
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return 'expired';
  if (isGroupServed === false) return 'no model';
  if (expiresAtMs === undefined) return 'enabled';
  return `until ${new Date(expiresAtMs).toISOString().slice(0, 10)}`;
}

export function periodText(balance: Pick<KeyBalance, 'period' | 'anchorDay'> | undefined): string {
  if (balance === undefined) return '-';
  const { period, anchorDay } = balance;
  return anchorDay === undefined ? period : `${period} from ${anchorDay}`;
}

function timeText(ms: number | undefined): string {
  return ms === undefined ? '-' : `${new Date(ms).toISOString().slice(0, 16)}Z`;
}

export function metadataText(metadata: Readonly<Record<string, string>>): string {
  const labels = Object.entries(metadata).map(([name, text]) => `${name}=${text}`);
  return labels.length === 0 ? '-' : labels.join(' ');
}

const dayMs = 86_400_000;

export const show: Command = keyCommand({
  name: 'keys show',
  summary: 'show everything about a key',
  positionals: 'KEY_ID',
  options: { config: configOption },
  about: `Shows the rights and the labels of a key, its balances in the current period, when it was
last used, and why its calls were refused in the last 7 days, if refusals are recorded.`,
  examples: ['npx tollgate keys show ada', 'npx tollgate keys show ada --json'],
  readsUsage: true,
  task: (given) => {
    const id = idIn(given);
    return async (opened) => {
      const { admin, read } = opened;
      const nowMs = given.around.clock.now();
      const key = shownKey(await admin.keys.find(id), opened);
      const refused = await admin.refusals.reasons({ keyId: id, fromMs: nowMs - 7 * dayMs });
      if (given.json) return printJson(given.around, { ...key, refused });
      const isRecorded = read.config.gateway?.recordRefusals === true;
      const parts = [factsOf(key, nowMs), balanceTable(key), refusedText(refused, isRecorded)];
      given.around.out(parts.join('\n'));
    };
  },
});

function factsOf(key: KeySummary, nowMs: number): string {
  const { models, rates, maxConcurrentCalls, expiresAtMs } = key;
  const facts: readonly (readonly [name: string, text: string])[] = [
    ['key', key.id],
    ['state', stateOf(key, nowMs)],
    ['group', key.isGroupServed === false ? `${key.group} (no model has it)` : key.group],
    ['models', models === undefined ? 'all of the group' : models.join(' ')],
    ['owner', key.owner?.id ?? '-'],
    ['rates', rates === undefined ? 'defaultRates' : rateLinesOf(rates).map(rateText).join(' ')],
    ['calls at once', maxConcurrentCalls === undefined ? 'any number' : `${maxConcurrentCalls}`],
    ['expires', expiresAtMs === undefined ? 'never' : timeText(expiresAtMs)],
    ['last used', timeText(key.lastUsedMs)],
    ['metadata', metadataText(key.metadata)],
  ];
  return table(['', ''], facts, '').replace(/^\n/, '');
}

function balanceTable({ balances = [] }: KeySummary): string {
  const amounts = amountCells(balances);
  return table(
    ['BUDGET', 'PERIOD', ...amountHeads],
    balances.map((balance, index) => [
      ...[balance.subject, `${periodText(balance)} ${balance.periodName}`.trim()],
      ...(amounts[index] ?? []),
    ]),
    'The balances are unknown: they are in the memory of the gateway, or their store is down.',
  );
}

function refusedText(refused: readonly RefusalReason[], isRecorded: boolean): string {
  return table(
    [' REFUSED', 'CODE', 'WHY', 'WHAT TO DO'],
    refused.map(({ count, code, reason, meaning, remedy }) => [
      ...[String(count), code, meaning ?? reason ?? '-', remedy ?? '-'],
    ]),
    isRecorded
      ? 'Nothing was refused in the last 7 days.'
      : 'Refusals are not recorded. Set gateway.recordRefusals to see here why calls are refused.',
  );
}
