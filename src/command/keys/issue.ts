/** `tollgate keys issue` and `tollgate keys edit`: one key at a time. */
import { given as stated } from '../../admin/deps.ts';
import { amountOf, type Command, type Given, usageError } from '../command.ts';
import { batchOptions, issueBatch } from './batch.ts';
import {
  cacheNote,
  changeOptions,
  idIn,
  keyCommand,
  type Opened,
  print,
  printSecret,
  shownKey,
} from './key-command.ts';
import {
  labelChange,
  nothingToChange,
  periodIn,
  periodOptions,
  rightsIn,
  rightsOptions,
} from './rights.ts';

export const issue: Command = keyCommand({
  name: 'keys issue',
  printsSecret: true,
  summary: 'issue a key and print its secret, once; or a key for each row of a file',
  options: {
    id: { value: 'ID', text: 'its id; default: a random one' },
    limit: { value: 'AMOUNT', text: 'what it may spend, such as 5 or 0.50' },
    ...periodOptions,
    ...rightsOptions,
    ...batchOptions,
    ...changeOptions,
  },
  about: `Issues a key. It needs a --group, and a --limit, an --owner or both. The secret is printed
on standard output, and only now: the database has only its digest. Nothing else is printed there,
so a script can read it.
With --batch, issues a key for each row of a CSV file, and writes the secrets into a new file that
only its owner can read. All rows are checked before the first key is issued. The same batch issues
no key twice.`,
  examples: [
    'npx tollgate keys issue --group staff --limit 5 --period month --id ada',
    'npx tollgate keys issue --group staff --owner team-a --rate calls=60/minute > secret.txt',
    'npx tollgate keys issue --batch 2026-autumn --from keys.csv --secrets secrets.csv',
  ],
  task: (given) => {
    const isBatch = given.text('batch') !== undefined;
    const others = isBatch ? ownOptions : ['from', 'secrets'];
    const other = others.find((name) => given.text(name) ?? given.all(name)[0]);
    if (other === undefined) return isBatch ? issueBatch(given) : issueOne(given);
    throw usageError(
      isBatch
        ? `--${other} can't be used with --batch: write it into the file.`
        : `--${other} needs --batch ID.`,
    );
  },
});

const ownOptions = ['id', 'limit', ...Object.keys({ ...periodOptions, ...rightsOptions })];

function issueOne(given: Given) {
  const { group, ...rights } = rightsIn(given);
  const limit = given.text('limit');
  if (group === undefined) throw usageError('keys issue needs --group NAME.');
  if (limit === undefined && rights.owner === undefined) {
    throw usageError('keys issue needs --limit AMOUNT, --owner ID or both.');
  }
  const period = periodIn(given);
  if (limit === undefined && period.period !== undefined) {
    throw usageError('--period needs --limit.');
  }
  const options = {
    group,
    ...stated({
      ...rights,
      id: given.text('id'),
      limitNanos: limit === undefined ? undefined : amountOf(limit),
      ...period,
    }),
  };
  return async ({ admin: { keys }, actor }: Opened): Promise<void> => {
    const issued = await keys.issue(actor, options);
    printSecret(given, issued, `Issued ${issued.key.id} of group ${issued.key.group}.`);
    warnOfGroup(given, keys.groupWarning(issued.key.group));
  };
}

function warnOfGroup({ around }: Given, warning: string | undefined): void {
  if (warning !== undefined) around.err(`${warning}\n`);
}

/** The flags that remove a member, and the option that they contradict. */
const removals = {
  'all-models': ['models', 'model'],
  'no-owner': ['owner', 'owner'],
  'no-rates': ['rates', 'rate'],
  'no-max-calls': ['maxConcurrentCalls', 'max-calls'],
  'no-expiry': ['expiresAtMs', 'expires'],
} as const;

export const edit: Command = keyCommand({
  name: 'keys edit',
  summary: 'change what a key may do',
  positionals: 'KEY_ID',
  options: {
    ...rightsOptions,
    'all-models': { text: 'all models of its group' },
    'no-owner': { text: 'no owner' },
    'no-rates': { text: "the gateway's defaultRates" },
    'no-max-calls': { text: 'any number of calls at once' },
    'no-expiry': { text: 'it does not expire' },
    'no-metadata': { value: 'NAME', isList: true, text: 'without this label; repeatable' },
    ...changeOptions,
  },
  about: `Changes the members that are given, and leaves the others as they are. --model and --rate
replace all models and all rates of the key; --metadata sets one label. For its limit, use
keys limit.
${cacheNote}`,
  examples: [
    'npx tollgate keys edit ada --group pro --rate calls=120/minute --rate tokens=1000000/day',
    'npx tollgate keys edit ada --model gpt-5.2 --metadata user=ada@example.com --no-expiry',
  ],
  task: (given) => {
    const id = idIn(given);
    const { metadata: _, ...rights } = rightsIn(given);
    const labels = labelChange(given);
    const removed = Object.entries(removals).flatMap(([flag, [member, option]]) => {
      if (!given.has(flag)) return [];
      if (rights[member] !== undefined)
        throw usageError(`Give --${option} or --${flag}, not both.`);
      return [[member, null] as const];
    });
    const change = { ...stated(rights), ...Object.fromEntries(removed) };
    if (labels === undefined && Object.keys(change).length === 0) {
      throw nothingToChange('keys edit');
    }
    return async (opened) => {
      const { keys } = opened.admin;
      const metadata = labels?.((await keys.find(id)).metadata);
      const key = await keys.edit(opened.actor, id, { ...change, ...stated({ metadata }) });
      print(given, shownKey(key, opened), `${id} is changed.`);
      warnOfGroup(given, change.group && keys.groupWarning(change.group));
    };
  },
});
