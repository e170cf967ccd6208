/**
 * `tollgate keys …`: issues, lists and changes keys in SQLite or PostgreSQL, with the admin
 * library.
 */
import type { Admin } from '../admin/admin.ts';
import { given as stated } from '../admin/deps.ts';
import type { KeySummary } from '../admin/key-summary.ts';
import type { AdminKeys, KeyListQuery } from '../admin/keys.ts';
import type { IssuedKey } from '../issue-key.ts';
import type { QuotaSubject } from '../ports/key-store.ts';
import { formatMoney } from '../prices/amount.ts';
import { randomIds } from '../random-ids.ts';
import {
  amountOf,
  type Command,
  configOption,
  dateOf,
  durationOf,
  exitCodes,
  type Given,
  usageError,
} from './command.ts';
import { type CountProgress, printJson, progress, table } from './output.ts';
import {
  type AdminNeeds,
  actorOf,
  actorOption,
  type OpenStores,
  refuseMemory,
  withAdmin,
} from './stores/with-stores.ts';

interface Opened extends OpenStores {
  readonly keys: AdminKeys;
  readonly actor: string;
}

interface KeyCommand extends Omit<Command, 'run'>, AdminNeeds {
  /** Reads the arguments, before anything is opened, and returns the task. */
  readonly task: (given: Given) => (opened: Opened) => Promise<void>;
}

function keyCommand({
  task,
  needsQuota = false,
  forgets = false,
  ...command
}: KeyCommand): Command {
  const run = (given: Given): Promise<number> => {
    const change = task(given);
    const open = async ({ keys }: Admin, opened: OpenStores): Promise<number> => {
      refuseMemory(opened.stores.choice.keys, 'Keys');
      await change({ ...opened, keys, actor: actorOf(given) });
      return exitCodes.done;
    };
    return withAdmin(given, open, { needsQuota, forgets });
  };
  return { ...command, run };
}

const changeOptions: Command['options'] = { actor: actorOption, config: configOption };

const subjectOptions: Command['options'] = {
  subject: {
    value: 'ID',
    text: "which of the quotas that the key is charged to; default: the key's own, else the first",
  },
  ...changeOptions,
};

const cacheNote = 'Running gateways cache a key for keys.cacheMs, 30 s by default.';

const issue = keyCommand({
  name: 'keys issue',
  printsSecret: true,
  summary: 'issue a key and print its secret, once',
  options: {
    group: { value: 'NAME', text: 'its group, which decides its models; required' },
    limit: { value: 'AMOUNT', text: 'what it may spend, such as 5 or 0.50; required' },
    period: { value: 'PERIOD', text: 'total, day or month; default: total' },
    id: { value: 'ID', text: 'its id; default: a random one' },
    expires: { value: 'DATE', text: 'when it expires: 2027-01-31, or 2027-01-31T18:00Z' },
    'max-calls': { value: 'N', text: 'how many of its calls may run at once' },
    ...changeOptions,
  },
  about: `Issues a key. The secret is printed on standard output, and only now: the database has
only its digest. Nothing else is printed there, so a script can read it.`,
  examples: [
    'npx tollgate keys issue --group staff --limit 5 --period month --id ada',
    'npx tollgate keys issue --group staff --limit 5 > secret.txt',
  ],
  task: (given) => {
    const [group, amount] = [given.text('group'), given.text('limit')];
    if (group === undefined) throw usageError('keys issue needs --group NAME.');
    if (amount === undefined) throw usageError('keys issue needs --limit AMOUNT.');
    const options = {
      ...{ group, limitNanos: amountOf(amount), period: periodIn(given) },
      ...stated({
        id: given.text('id'),
        expiresAtMs: expiryIn(given),
        maxConcurrentCalls: callCountIn(given),
      }),
    };
    return async ({ keys, actor }) => {
      const issued = await keys.issue(actor, options);
      printSecret(given, issued, `Issued ${issued.key.id} of group ${issued.key.group}.`);
      const warning = keys.groupWarning(issued.key.group);
      if (warning !== undefined) given.around.err(`${warning}\n`);
    };
  },
});

const rotate = keyCommand({
  name: 'keys rotate',
  printsSecret: true,
  summary: 'replace the secret of a key by a new key',
  positionals: 'KEY_ID',
  options: {
    overlap: {
      value: 'TIME',
      text: 'how long the old secret stays valid: 30m, 24h; default: not at all',
    },
    id: { value: 'ID', text: 'the id of the new key; default: a random one' },
    ...changeOptions,
  },
  about: `Issues a key with the rights of the old one, charged to the same quota, prints its
secret on standard output, and lets the old one expire. Callers have the time of the overlap
to switch to the new secret.
${cacheNote}`,
  examples: ['npx tollgate keys rotate ada --overlap 24h > secret.txt'],
  task: (given) => {
    const oldId = keyIdIn(given);
    const options = stated({ id: given.text('id'), overlapMs: overlapIn(given) });
    return async ({ keys, actor }) => {
      const issued = await keys.rotate(actor, oldId, options);
      const end = new Date(issued.replaced.expiresAtMs).toISOString();
      printSecret(given, issued, `${issued.key.id} replaces ${oldId}, which expires ${end}.`);
    };
  },
});

const list = keyCommand({
  name: 'keys list',
  summary: 'list keys with what they have used',
  options: {
    group: { value: 'NAME', text: 'only the keys of this group' },
    search: { value: 'TEXT', text: 'only keys whose id or group contains it' },
    disabled: { text: 'only disabled keys' },
    config: configOption,
  },
  about: 'Lists keys with their limits, and what is used, held and left in the current period.',
  examples: ['npx tollgate keys list --group staff', 'npx tollgate keys list --search ada --json'],
  task: (given) => {
    const { around, json, text } = given;
    const disabled = given.has('disabled') ? true : undefined;
    const query = stated({ group: text('group'), search: text('search'), disabled });
    return async (opened) => {
      const found = await progress(given, 'Reading keys', (count) =>
        allKeys(opened.keys, query, count),
      );
      const all = found.map((key) => shownKey(key, opened));
      if (json) printJson(around, { data: all });
      else around.out(keyTable(all, around.clock.now()));
    };
  },
});

async function allKeys(
  keys: AdminKeys,
  query: KeyListQuery,
  count: CountProgress,
): Promise<readonly KeySummary[]> {
  const all: KeySummary[] = [];
  let after: string | undefined;
  do {
    const page = await keys.list({ ...query, ...stated({ after }) });
    all.push(...page.data);
    after = page.next;
    count(all.length);
  } while (after !== undefined);
  return all;
}

function switching(task: 'disable' | 'enable'): Command {
  const [word, summary] = {
    disable: ['off', 'refuse the calls of a key'] as const,
    enable: ['on', 'accept the calls of a key again'] as const,
  }[task];
  return keyCommand({
    name: `keys ${task}`,
    summary,
    positionals: 'KEY_ID',
    options: changeOptions,
    about: `Switches a key ${word}; its running calls continue.
${cacheNote}`,
    examples: [`npx tollgate keys ${task} ada`],
    task: (given) => {
      const id = keyIdIn(given);
      return async (opened) => {
        const key = await opened.keys[task](opened.actor, id);
        print(given, shownKey(key, opened), `${id} is ${task}d.`);
      };
    },
  });
}

const limit = keyCommand({
  name: 'keys limit',
  summary: "change a key's limit",
  positionals: 'KEY_ID AMOUNT',
  options: subjectOptions,
  about: `Changes what a key may spend in each period. The new limit applies from the next call on;
what was used in the current period counts towards it.
${cacheNote}`,
  examples: ['npx tollgate keys limit ada 20'],
  task: (given) => {
    const [id, amount] = keyAndAmountIn(given);
    const subject = given.text('subject');
    const change = { limitNanos: amountOf(amount), ...stated({ subject }) };
    return async (opened) => {
      const key = await opened.keys.setLimit(opened.actor, id, change);
      const added = changedBalance(key, subject)?.extraNanos ?? 0n;
      const more = added === 0n ? '' : `, and ${formatMoney(added)} that was added for this period`;
      print(given, shownKey(key, opened), `${id} may spend ${amount}${more}.`);
    };
  },
});

const topUp = keyCommand({
  name: 'keys top-up',
  summary: 'add money to a key, once for each payment',
  positionals: 'KEY_ID AMOUNT',
  options: {
    payment: { value: 'ID', text: 'the id of the payment; the same id twice adds the money once' },
    ...subjectOptions,
  },
  about: `Adds to the limit of the current period. Without --payment each call adds the money
again.`,
  examples: ['npx tollgate keys top-up ada 20 --payment invoice-4711'],
  needsQuota: true,
  task: (given) => {
    const [id, amount] = keyAndAmountIn(given);
    const amountNanos = amountOf(amount);
    if (amountNanos === 0n) throw usageError('AMOUNT must be above 0: nothing would be added.');
    const payment = given.text('payment') ?? randomIds()();
    const subject = given.text('subject');
    return async (opened) => {
      refuseMemory(opened.stores.choice.quota, 'Balances');
      const added = { id: payment, amountNanos, ...stated({ subject }) };
      const key = await opened.keys.topUp(opened.actor, id, added);
      const changed = changedBalance(key, subject);
      const left =
        changed === undefined ? 'an unknown amount' : formatMoney(changed.remainingNanos);
      print(given, shownKey(key, opened), `${id} has ${left} left.`);
    };
  },
});

const remove = keyCommand({
  name: 'keys remove',
  summary: 'remove a key for good',
  positionals: 'KEY_ID',
  options: { yes: { text: 'confirm; required' }, ...changeOptions },
  about: `Removes a key. Its calls in the usage log and its balances stay. To refuse its calls for
a while, disable it.
${cacheNote}`,
  examples: ['npx tollgate keys remove ada --yes'],
  forgets: true,
  task: (given) => {
    const id = keyIdIn(given);
    if (!given.has('yes')) {
      throw usageError(`keys remove can't be undone: add --yes, or run keys disable ${id}.`);
    }
    return async ({ keys, actor }) => {
      await keys.remove(actor, id);
      print(given, { id, removed: true }, `${id} is removed.`);
    };
  },
});

export const keyCommands: readonly Command[] = [
  ...[issue, rotate, list],
  ...[switching('disable'), switching('enable'), limit, topUp, remove],
];

function periodIn({ text }: Given): QuotaSubject['period'] {
  const named = text('period') ?? 'total';
  const period = (['total', 'day', 'month'] as const).find((known) => known === named);
  if (period === undefined) throw usageError('--period must be total, day or month.');
  return period;
}

function expiryIn(given: Given): number | undefined {
  const timeMs = dateOf(given, 'expires');
  if (timeMs !== undefined && timeMs <= given.around.clock.now()) {
    throw usageError('--expires is in the past: the key could never be used.');
  }
  return timeMs;
}

function callCountIn({ text }: Given): number | undefined {
  const count = text('max-calls');
  if (count === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(count)) return Number(count);
  throw usageError('--max-calls must be an integer, at least 1.');
}

function overlapIn({ text }: Given): number | undefined {
  const overlap = text('overlap');
  if (overlap === undefined) return undefined;
  const overlapMs = durationOf(overlap);
  if (overlapMs === undefined) throw usageError('--overlap must be a duration such as 30m or 24h.');
  return overlapMs;
}

function keyIdIn({ positionals: [id] }: Given): string {
  if (id === undefined) throw usageError('KEY_ID is missing: give the id of a key.');
  return id;
}

function keyAndAmountIn({ positionals: [id, amount] }: Given): readonly [string, string] {
  if (id === undefined || amount === undefined) throw usageError('KEY_ID and AMOUNT are required.');
  return [id, amount];
}

/** The balance that a change applies to; undefined if the quota store failed. */
function changedBalance({ balances }: KeySummary, subject: string | undefined) {
  return balances?.find((one) => (subject === undefined ? one.isMain : one.subject === subject));
}

/** A key as the command shows it: balances in the memory of another process are left out. */
type ShownKey = Omit<KeySummary, 'lastUsedMs'>;

function shownKey({ lastUsedMs: _, ...key }: KeySummary, { stores }: OpenStores): ShownKey {
  return stores.choice.quota === 'memory' ? { ...key, balances: undefined } : key;
}

function keyTable(keys: readonly ShownKey[], nowMs: number): string {
  return table(
    ['KEY', 'GROUP', 'STATE', 'PERIOD', ' LIMIT', ' USED', ' HELD', ' LEFT'],
    keys.map((key) => {
      const main = key.balances?.find(({ isMain }) => isMain);
      const amounts = [main?.limitNanos, main?.usedNanos, main?.heldNanos, main?.remainingNanos];
      return [
        ...[key.id, key.group, stateOf(key, nowMs), main?.period ?? '-'],
        ...amounts.map((nanos) => (nanos === undefined ? '-' : formatMoney(nanos))),
      ];
    }),
    'No keys match. npx tollgate keys issue makes one.',
  );
}

function stateOf({ disabled, expiresAtMs, isGroupServed }: ShownKey, nowMs: number): string {
  if (disabled) return 'disabled';
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return 'expired';
  if (isGroupServed === false) return 'no model';
  if (expiresAtMs === undefined) return 'enabled';
  return `until ${new Date(expiresAtMs).toISOString().slice(0, 10)}`;
}

function print({ around, json }: Given, changed: object, sentence: string): void {
  if (json) printJson(around, changed);
  else around.out(`${sentence}\n`);
}

/** Only the secret goes to standard output, so that `> secret.txt` stores it and nothing else. */
function printSecret({ around, json }: Given, issued: IssuedKey, sentence: string): void {
  if (json) return printJson(around, issued);
  around.out(`${issued.secret}\n`);
  around.err(`${sentence} Store the secret now.\n`);
}
