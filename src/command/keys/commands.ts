/**
 * `tollgate keys …`: issues, lists and changes keys in SQLite or PostgreSQL, with the admin
 * library.
 */
import type { KeySummary } from '../../admin/key-summary.ts';
import type { AdminKeys, KeyListQuery } from '../../admin/keys.ts';
import type { IssuedKey, IssueKeyOptions } from '../../issue-key.ts';
import { type Command, configOption, exitCodes, type Given, usageError } from '../command.ts';
import { type CountProgress, printJson, progress } from '../output.ts';
import { actorOf, actorOption } from '../with-admin.ts';
import { keyChanges } from './changes.ts';
import { keyTable, shownKey } from './key-table.ts';
import { amountOf, callCountOf, durationOf, expiryOf, keyIdIn, periodNamed } from './values.ts';
import { cacheNote, withKeys } from './with-keys.ts';

const issue: Command = {
  name: 'keys issue',
  printsSecret: true,
  summary: 'issue a key and print its secret, once',
  options: {
    group: { type: 'string', value: 'NAME', text: 'its group, which decides its models; required' },
    limit: {
      type: 'string',
      value: 'AMOUNT',
      text: 'what it may spend, such as 5 or 0.50; required',
    },
    period: { type: 'string', value: 'PERIOD', text: 'total, day or month; default: total' },
    id: { type: 'string', value: 'ID', text: 'its id; default: a random one' },
    expires: {
      type: 'string',
      value: 'DATE',
      text: 'when it expires: 2027-01-31, or 2027-01-31T18:00Z',
    },
    'max-calls': { type: 'string', value: 'N', text: 'how many of its calls may run at once' },
    actor: actorOption,
    config: configOption,
  },
  about: `Issues a key. The secret is printed on standard output, and only now: the database has
only its digest. Nothing else is printed there, so a script can read it.`,
  examples: [
    'npx tollgate keys issue --group staff --limit 5 --period month --id ada',
    'npx tollgate keys issue --group staff --limit 5 > secret.txt',
  ],
  run: (given) => {
    const options = issueOptions(given);
    return withKeys(given, async ({ keys }) => {
      const issued = await keys.issue(actorOf(given), options);
      printSecret(given, issued, `Issued ${issued.key.id} of group ${issued.key.group}.`);
      const warning = keys.groupWarning(issued.key.group);
      if (warning !== undefined) given.around.err(`${warning}\n`);
      return exitCodes.done;
    });
  },
};

const rotate: Command = {
  name: 'keys rotate',
  printsSecret: true,
  summary: 'replace the secret of a key by a new key',
  positionals: 'KEY_ID',
  options: {
    overlap: {
      type: 'string',
      value: 'TIME',
      text: 'how long the old secret stays valid: 30m, 24h; default: not at all',
    },
    id: { type: 'string', value: 'ID', text: 'the id of the new key; default: a random one' },
    actor: actorOption,
    config: configOption,
  },
  about: `Issues a key with the rights of the old one, charged to the same quota, prints its
secret on standard output, and lets the old one expire. Callers have the time of the overlap
to switch to the new secret.
${cacheNote}`,
  examples: ['npx tollgate keys rotate ada --overlap 24h > secret.txt'],
  run: (given) => {
    const oldId = keyIdIn(given);
    const [id, overlap] = [given.text('id'), given.text('overlap')];
    const options = {
      ...(id === undefined ? {} : { id }),
      ...(overlap === undefined ? {} : { overlapMs: durationOf(overlap, 'overlap') }),
    };
    return withKeys(given, async ({ keys }) => {
      const issued = await keys.rotate(actorOf(given), oldId, options);
      const end = new Date(issued.replaced.expiresAtMs).toISOString();
      printSecret(given, issued, `${issued.key.id} replaces ${oldId}, which expires ${end}.`);
      return exitCodes.done;
    });
  },
};

const list: Command = {
  name: 'keys list',
  summary: 'list keys with what they have used',
  options: {
    group: { type: 'string', value: 'NAME', text: 'only the keys of this group' },
    search: { type: 'string', value: 'TEXT', text: 'only keys whose id or group contains it' },
    disabled: { type: 'boolean', text: 'only disabled keys' },
    config: configOption,
  },
  about: 'Lists keys with their limits, and what is used, held and left in the current period.',
  examples: ['npx tollgate keys list --group staff', 'npx tollgate keys list --search ada --json'],
  run: (given) => {
    const [group, search] = [given.text('group'), given.text('search')];
    const query = {
      ...(group === undefined ? {} : { group }),
      ...(search === undefined ? {} : { search }),
      ...(given.has('disabled') ? { disabled: true } : {}),
    };
    return withKeys(given, async ({ keys }, open) => {
      const found = await progress(given, 'Reading keys', (count) => allKeys(keys, query, count));
      const all = found.map((key) => shownKey(key, open));
      if (given.json) printJson(given.around, { data: all });
      else given.around.out(keyTable(all, given.around.clock.now()));
      return exitCodes.done;
    });
  },
};

async function allKeys(
  keys: AdminKeys,
  query: KeyListQuery,
  count: CountProgress,
): Promise<readonly KeySummary[]> {
  const all: KeySummary[] = [];
  let after: string | undefined;
  do {
    const page = await keys.list(after === undefined ? query : { ...query, after });
    all.push(...page.data);
    after = page.next;
    count(all.length);
  } while (after !== undefined);
  return all;
}

/** The commands about keys. */
export const keyCommands: readonly Command[] = [issue, rotate, list, ...keyChanges];

function issueOptions(given: Given): IssueKeyOptions {
  const [group, amount] = [given.text('group'), given.text('limit')];
  if (group === undefined) throw usageError('keys issue needs --group NAME.');
  if (amount === undefined) throw usageError('keys issue needs --limit AMOUNT.');
  const [id, calls] = [given.text('id'), given.text('max-calls')];
  const expiresAtMs = expiryOf(given);
  return {
    group,
    limitNanos: amountOf(amount),
    period: periodNamed(given.text('period') ?? 'total'),
    ...(id === undefined ? {} : { id }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    ...(calls === undefined ? {} : { maxConcurrentCalls: callCountOf(calls) }),
  };
}

/** Only the secret goes to standard output, so that `> secret.txt` stores it and nothing else. */
function printSecret({ around, json }: Given, issued: IssuedKey, sentence: string): void {
  if (json) return printJson(around, issued);
  around.out(`${issued.secret}\n`);
  around.err(`${sentence} Store the secret now.\n`);
}
