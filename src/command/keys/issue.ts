/**
 * `tollgate keys issue` and `tollgate keys edit`; with `--batch` a key for each row of a CSV file.
 * The file for the secrets is created before the first key is issued, so that no secret is lost
 * because it can't be.
 */

import { type FileHandle, open, readFile, unlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isAdminError } from '../../admin/admin-error.ts';
import { csvLine } from '../../admin/csv.ts';
import { given as stated } from '../../admin/deps.ts';
import type { IssuedBatch } from '../../admin/keys/batch.ts';
import { type KeyRow, readKeyCsv } from '../../admin/keys/csv.ts';
import { thrownCode } from '../../events/thrown.ts';
import { nanosOf } from '../../prices/amount.ts';
import {
  amountOf,
  type Command,
  CommandError,
  exitCodes,
  type Given,
  usageError,
} from '../command.ts';
import { printJson, progress } from '../output.ts';
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

const batchOptions: Command['options'] = {
  batch: { value: 'ID', text: 'issue the keys of --from; their ids begin with it' },
  from: { value: 'FILE', text: 'a CSV file with a row for each key: docs/command.md' },
  secrets: { value: 'FILE', text: 'a new CSV file, readable only by you, for the secrets' },
};

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

function issueBatch(given: Given) {
  const { around, text } = given;
  const [batch, from, secrets] = [text('batch'), text('from'), text('secrets')];
  if (batch === undefined || from === undefined || secrets === undefined) {
    throw usageError('--batch needs --from FILE and --secrets FILE.');
  }
  const path = resolve(around.cwd, secrets);
  return async ({ admin: { keys }, actor }: Opened): Promise<void> => {
    const rows = await rowsIn(resolve(around.cwd, from), around.clock.now());
    const file = await newFile(path);
    const issued = await progress(given, `Issuing ${rows.length} keys`, () =>
      keys
        .issueBatch(
          actor,
          batch,
          rows.map(({ line: _, ...key }) => key),
        )
        .catch(async (error) => {
          await file.close();
          await unlink(path);
          throw withLines(error, rows);
        }),
    );
    await writeSecrets(file, issued, rows);
    report(given, issued, secrets);
  };
}

const maxShown = 100;

async function rowsIn(path: string, nowMs: number): Promise<readonly KeyRow[]> {
  const text = await readFile(path, 'utf8').catch((error) => {
    throw new CommandError(
      exitCodes.usage,
      `--from can't be read (${thrownCode(error)}): ${path}.`,
    );
  });
  const { rows, problems } = readKeyCsv(text, { nowMs, nanosOf });
  if (problems.length > 0) throw refusal(problems);
  return rows;
}

function refusal(problems: readonly { readonly line: number; readonly sentence: string }[]) {
  const shown = problems
    .slice(0, maxShown)
    .map(({ line, sentence }) => `line ${line}: ${sentence}`);
  const rest = problems.length - shown.length;
  const more = rest > 0 ? [`and ${rest} more.`] : [];
  return usageError(['no key was issued. Correct --from:', ...shown, ...more].join('\n  '));
}

/** The admin library counts rows; whoever edits the file counts lines. */
function withLines(error: unknown, rows: readonly KeyRow[]): unknown {
  if (!isAdminError(error) || error.problems === undefined) return error;
  return refusal(
    error.problems.map(({ row = 1, field, message }) => ({
      line: rows[row - 1]?.line ?? row,
      sentence: message.startsWith(field) ? message : `${field}: ${message}`,
    })),
  );
}

async function newFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    const code = thrownCode(error);
    if (code === 'EEXIST') throw usageError(`--secrets must be a new file: ${path} exists.`);
    const message = `--secrets can't be created (${code}): ${path}. No key was issued.`;
    throw new CommandError(exitCodes.unreachable, message, error);
  }
}

async function writeSecrets(
  file: FileHandle,
  { data }: IssuedBatch,
  rows: readonly KeyRow[],
): Promise<void> {
  try {
    const lines = data.map(({ row, id, outcome, secret }) =>
      csvLine([rows[row - 1]?.line, id, outcome, secret]),
    );
    await file.writeFile(csvLine(['line', 'id', 'outcome', 'secret']) + lines.join(''));
    await file.sync();
  } catch (error) {
    const ids = data.filter(({ outcome }) => outcome === 'issued').map(({ id }) => id);
    throw new CommandError(
      exitCodes.unreachable,
      `--secrets can't be written (${thrownCode(error)}). These keys were issued, and their ` +
        `secrets are lost: remove them, and repeat the batch.\n  ${ids.join('\n  ')}`,
      error,
    );
  } finally {
    // What was written is on the disk already.
    await file.close().catch(() => {});
  }
}

function report(given: Given, batch: IssuedBatch, secrets: string): void {
  const { issued, existed, failed, problem, warnings, data } = batch;
  const { around, json } = given;
  if (json) {
    printJson(around, { ...batch, secrets, data: data.map(({ secret: _, ...row }) => row) });
  } else {
    const keys = issued === 1 ? '1 key' : `${issued} keys`;
    around.out(`Issued ${keys}. The secrets are in ${secrets}, and nowhere else.\n`);
  }
  for (const warning of warnings) around.err(`${warning}\n`);
  if (existed > 0) {
    around.err(
      `${existed} keys existed and were left as they are: their rows of ${secrets} have no ` +
        'secret. ' +
        'If an earlier run lost it, remove such a key and repeat the batch, or rotate it.\n',
    );
  }
  if (failed > 0) {
    const remedy = 'Repeat the batch with a new --secrets.';
    const message = `${failed} keys were not issued: ${problem} ${remedy}`;
    throw new CommandError(exitCodes.unreachable, message);
  }
}
