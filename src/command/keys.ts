/** `tollgate keys …`: issues, lists and changes the keys in SQLite or PostgreSQL. */
import { createHash } from 'node:crypto';
import type { IssueKeyOptions } from '../issue-key.ts';
import type { ApiKey, QuotaSubject } from '../ports/key-store.ts';
import { defaultPartition } from '../ports/quota-input.ts';
import type { QuotaState } from '../ports/quota-store.ts';
import { formatMoney, money } from '../prices/amount.ts';
import { randomIds } from '../random-ids.ts';
import { periodName } from '../stages/reserve.ts';
import type { KeyTable } from '../stores/sql/key-row.ts';
import {
  type Command,
  CommandError,
  configOption,
  exitCodes,
  type Given,
  type Option,
  usageError,
} from './command.ts';
import { printJson, table } from './output.ts';
import { type OpenStores, refuseMemory, withStores } from './with-stores.ts';

const cacheNote =
  'Running gateways may know a key from PostgreSQL for keys.cacheMs, 30 s by default.';

const periodOption: Option = {
  type: 'string',
  value: 'PERIOD',
  text: 'total, day or month; default: total',
};

const issue: Command = {
  name: 'keys issue',
  summary: 'issue a key and print its secret, once',
  options: {
    group: { type: 'string', value: 'NAME', text: 'its group, which decides its models; required' },
    limit: {
      type: 'string',
      value: 'AMOUNT',
      text: 'what it may spend, such as 5 or 0.50; required',
    },
    period: periodOption,
    id: { type: 'string', value: 'ID', text: 'its id; default: a random one' },
    expires: { type: 'string', value: 'DATE', text: 'when it ends: 2027-01-31, or with a time' },
    'max-calls': { type: 'string', value: 'N', text: 'how many of its calls may run at once' },
    config: configOption,
  },
  about: `Issues a key. The secret is printed on standard output, this once: the database has
only its digest. Nothing else is printed there, so a script can take it.`,
  examples: [
    'npx tollgate keys issue --group staff --limit 5 --period month --id ada',
    'npx tollgate keys issue --group staff --limit 5 > secret.txt',
  ],
  run: (given) =>
    withKeys(given, async (keys) => {
      const { secret, key } = await keys.issue(keyOptions(given));
      if (given.json) printJson(given.around, { secret, key });
      else {
        given.around.out(`${secret}\n`);
        given.around.err(`Issued ${key.id} of group ${key.group}. Store the secret now.\n`);
      }
      return exitCodes.done;
    }),
};

const list: Command = {
  name: 'keys list',
  summary: 'list keys with what they have used',
  options: {
    group: { type: 'string', value: 'NAME', text: 'only the keys of this group' },
    config: configOption,
  },
  about: 'Lists keys with their limits, and what is used and held in the current period.',
  examples: ['npx tollgate keys list --group staff'],
  run: (given) =>
    withKeys(given, async (keys, open) => {
      const found = await keys.list(given.text('group'));
      const rows = await Promise.all(found.map((key) => withBalance(key, open, given)));
      if (given.json) printJson(given.around, { data: rows });
      else given.around.out(keyTable(rows));
      return exitCodes.done;
    }),
};

const disable = switching('disable', true);
const enable = switching('enable', false);

const limit: Command = {
  name: 'keys limit',
  summary: "change a key's limit",
  positionals: 'KEY_ID AMOUNT',
  options: { config: configOption },
  about: `Changes what a key may spend in each period of its own quota. It counts from the next
call on, including what was used in the current period. ${cacheNote}`,
  examples: ['npx tollgate keys limit ada 20'],
  run: (given) =>
    withKeys(given, async (keys) => {
      const [id, amount] = twoArguments(given, 'KEY_ID', 'AMOUNT');
      const limitNanos = amountOf(amount);
      const key = await keyOf(keys, id);
      const { period } = ownSubject(key);
      const quota = key.quota.map((line) => (line.id === id ? { ...line, limitNanos } : line));
      await keys.update(id, { quota });
      return done(given, { id, limitNanos, period }, `${id} may spend ${amount} (${period}).`);
    }),
};

const topUp: Command = {
  name: 'keys top-up',
  summary: 'add money to a key, once for each payment',
  positionals: 'KEY_ID AMOUNT',
  options: {
    payment: {
      type: 'string',
      value: 'ID',
      text: 'the id of the payment; the same id twice adds the money once',
    },
    config: configOption,
  },
  about: `Adds to the limit of the current period of a key's own quota. Without --payment each call
adds the money again.`,
  examples: ['npx tollgate keys top-up ada 20 --payment invoice-4711'],
  run: (given) =>
    withKeys(given, async (keys, { stores }) => {
      refuseMemory(stores.choice.quota, 'Balances');
      const [id, amount] = twoArguments(given, 'KEY_ID', 'AMOUNT');
      const addLimit = amountOf(amount);
      const key = await keyOf(keys, id);
      const state = await stores.quota.adjust({
        id: adjustmentId(given.text('payment')),
        ...rowOf(key, given),
        addLimit,
      });
      const left = leftOf(state);
      return done(
        given,
        { id, addedNanos: addLimit, leftNanos: left },
        `Added. ${formatMoney(left)} is left.`,
      );
    }),
};

/** The commands about keys. */
export const keyCommands: readonly Command[] = [issue, list, disable, enable, limit, topUp];

function switching(task: 'disable' | 'enable', disabled: boolean): Command {
  return {
    name: `keys ${task}`,
    summary: disabled ? 'refuse the calls of a key' : 'accept the calls of a key again',
    positionals: 'KEY_ID',
    options: { config: configOption },
    about: `Switches a key ${disabled ? 'off' : 'on'}; its running calls go on. ${cacheNote}`,
    examples: [`npx tollgate keys ${task} ada`],
    run: (given) =>
      withKeys(given, async (keys) => {
        const [id] = given.positionals;
        if (id === undefined) throw usageError(`keys ${task} needs a KEY_ID.`);
        if (!(await keys.update(id, { disabled }))) throw unknownKey(id);
        return done(given, { id, disabled }, `${id} is ${task}d.`);
      }),
  };
}

function withKeys(
  given: Given,
  task: (keys: KeyTable, open: OpenStores) => Promise<number>,
): Promise<number> {
  return withStores(given, (open) => {
    const { keyTable } = open.stores;
    refuseMemory(open.stores.choice.keys, 'Keys');
    if (!('issue' in keyTable)) throw usageError('stores.keys has no keys that can be changed.');
    return task(keyTable, open);
  });
}

function keyOptions(given: Given): IssueKeyOptions {
  const [group, amount] = [given.text('group'), given.text('limit')];
  if (group === undefined) throw usageError('keys issue needs --group NAME.');
  if (amount === undefined) throw usageError('keys issue needs --limit AMOUNT.');
  const [id, expires, calls] = [given.text('id'), given.text('expires'), given.text('max-calls')];
  return {
    group,
    limitNanos: amountOf(amount),
    period: periodNamed(given.text('period') ?? 'total'),
    ...(id === undefined ? {} : { id }),
    ...(expires === undefined ? {} : { expiresAtMs: timeOf(expires) }),
    ...(calls === undefined ? {} : { maxConcurrentCalls: Number(calls) }),
  };
}

function periodNamed(text: string): QuotaSubject['period'] {
  const period = (['total', 'day', 'month'] as const).find((known) => known === text);
  if (period === undefined) throw usageError('--period must be total, day or month.');
  return period;
}

function amountOf(text: string): bigint {
  try {
    return money(text);
  } catch {
    throw usageError(`"${text}" must be an amount such as 5 or 0.50, up to 9007199.`);
  }
}

function timeOf(text: string): number {
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs)) throw usageError('--expires must be a date such as 2027-01-31.');
  return timeMs;
}

function twoArguments(given: Given, one: string, other: string): readonly [string, string] {
  const [first, second] = given.positionals;
  if (first === undefined || second === undefined)
    throw usageError(`${one} and ${other} are needed.`);
  return [first, second];
}

async function keyOf(keys: KeyTable, id: string): Promise<ApiKey> {
  const key = (await keys.list()).find((known) => known.id === id);
  if (key === undefined) throw unknownKey(id);
  return key;
}

function unknownKey(id: string): CommandError {
  return new CommandError(exitCodes.failed, `there is no key "${id}". See npx tollgate keys list.`);
}

/** The quota of the key alone. */
function ownSubject(key: ApiKey): QuotaSubject {
  const own = key.quota.find(({ id }) => id === key.id);
  if (own !== undefined) return own;
  throw new CommandError(
    exitCodes.failed,
    `key "${key.id}" has no quota of its own, only shared ones. Change those in your own code.`,
  );
}

function rowOf(key: ApiKey, { around }: Given) {
  const { id, period } = ownSubject(key);
  return {
    subject: id,
    period: periodName(period, around.clock.now()),
    partition: key.quotaPartition ?? defaultPartition,
  };
}

/** Payments have ids of any form; those of adjustments have 16 to 64 characters of base64url. */
function adjustmentId(payment: string | undefined): string {
  if (payment === undefined) return `top_up_${randomIds()()}`;
  return `top_up_${createHash('sha256').update(payment).digest('base64url')}`;
}

function leftOf({ limit: granted, extra, used, held }: QuotaState): bigint {
  return granted + extra - used - held;
}

/** A key with its balance in the current period. */
interface Row {
  readonly key: ApiKey;
  readonly balance: QuotaState | undefined;
}

async function withBalance(key: ApiKey, { stores }: OpenStores, given: Given): Promise<Row> {
  const isKept = stores.choice.quota !== 'memory' && key.quota.some(({ id }) => id === key.id);
  if (!isKept) return { key, balance: undefined };
  const { subject, period, partition } = rowOf(key, given);
  return { key, balance: await stores.quota.read(subject, period, partition) };
}

function keyTable(rows: readonly Row[]): string {
  return table(
    ['KEY', 'GROUP', 'STATE', 'PERIOD', ' LIMIT', ' USED', ' HELD'],
    rows.map(({ key, balance }) => {
      const own = key.quota.find(({ id }) => id === key.id);
      const granted = (own?.limitNanos ?? balance?.limit ?? 0n) + (balance?.extra ?? 0n);
      return [
        key.id,
        key.group,
        key.disabled ? 'disabled' : 'enabled',
        own?.period ?? '-',
        own === undefined ? '-' : formatMoney(granted),
        formatMoney(balance?.used ?? 0n),
        formatMoney(balance?.held ?? 0n),
      ];
    }),
  );
}

function done({ around, json }: Given, value: object, sentence: string): number {
  if (json) printJson(around, value);
  else around.out(`${sentence}\n`);
  return exitCodes.done;
}
