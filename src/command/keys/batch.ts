/**
 * `tollgate keys issue --batch`: a key for each row of a CSV file. The file for the secrets is
 * created before the first key is issued, so that no secret is lost because it can't be.
 */
import { type FileHandle, open, readFile, unlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isAdminError } from '../../admin/admin-error.ts';
import { csvLine } from '../../admin/csv.ts';
import type { IssuedBatch } from '../../admin/keys/batch.ts';
import { type KeyRow, readKeyCsv } from '../../admin/keys/csv.ts';
import { thrownCode } from '../../events/thrown.ts';
import { nanosOf } from '../../prices/amount.ts';
import { type Command, CommandError, exitCodes, type Given, usageError } from '../command.ts';
import { printJson, progress } from '../output.ts';
import type { Opened } from './key-command.ts';

export const batchOptions: Command['options'] = {
  batch: { value: 'ID', text: 'issue the keys of --from; their ids begin with it' },
  from: { value: 'FILE', text: 'a CSV file with a row for each key: docs/command.md' },
  secrets: { value: 'FILE', text: 'a new CSV file, readable only by you, for the secrets' },
};

export function issueBatch(given: Given) {
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
