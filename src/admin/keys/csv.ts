/**
 * Reads a CSV file of keys to issue. All its problems are found before anything is issued. It runs
 * in browsers too.
 */
import type { Nanos } from '../../money.ts';
import type { PeriodOfLimit } from '../../ports/keys/key-store.ts';
import type { KeyRateLimits } from '../../ports/limits/rates.ts';
import { type CsvRow, readCsv } from '../csv.ts';
import {
  anchorDayOf,
  callCountOf,
  expiryOf,
  periodOf,
  rateLineOf,
  ratesOf,
  rateTextForm,
} from './texts.ts';

/** The largest number of keys in one batch. */
export const maxBatch = 5_000;

/** A key to issue, and where the file has it. */
export interface KeyRow {
  readonly line: number;
  readonly id?: string;
  readonly group: string;
  readonly limitNanos?: Nanos;
  readonly period?: PeriodOfLimit['period'];
  readonly anchorDay?: number;
  readonly owner?: string;
  readonly models?: readonly string[];
  readonly rates?: readonly KeyRateLimits[];
  readonly maxConcurrentCalls?: number;
  readonly expiresAtMs?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A mistake in the file. */
export interface RowProblem {
  readonly line: number;
  /** Names the column and the remedy. */
  readonly sentence: string;
}

/** The keys of a file, or everything that is wrong with it. */
export interface ReadKeys {
  readonly rows: readonly KeyRow[];
  readonly problems: readonly RowProblem[];
}

interface KeyCsvInput {
  readonly nowMs: number;
  /** The nanos of a decimal number of units; undefined if the text is none. */
  nanosOf(text: string): Nanos | undefined;
}

type Members = Omit<KeyRow, 'line'>;
/** Reads a cell that is not empty, or returns what is wrong, to be read after the column. */
type ReadCell = (text: string, input: KeyCsvInput) => Partial<Members> | string;

const idForm = /^[!-~]{1,128}$/;
const idSentence = 'must be 1 to 128 printable ASCII characters without spaces.';

const readers: Readonly<Record<string, ReadCell>> = {
  id: (id) => (idForm.test(id) && !/^\.+$/.test(id) ? { id } : idSentence),
  group: (group) => ({ group }),
  limit: (text, { nanosOf }) => {
    const limitNanos = nanosOf(text);
    return limitNanos === undefined ? 'must be an amount such as 5 or 0.50.' : { limitNanos };
  },
  period: periodOf,
  anchor_day: anchorDayOf,
  owner: (owner) => (idForm.test(owner) ? { owner } : idSentence),
  models: (text) => ({ models: wordsIn(text) }),
  rates: (text) => {
    const lines = wordsIn(text).map(rateLineOf);
    const known = lines.filter((line) => line !== undefined);
    return known.length < lines.length
      ? `must be limits with spaces between them, each ${rateTextForm}.`
      : { rates: ratesOf(known) };
  },
  max_calls: callCountOf,
  expires: (text, { nowMs }) => expiryOf(text, nowMs),
};

/** The columns of the file; `metadata.NAME` may stand for any name. */
export const keyColumns: readonly string[] = [...Object.keys(readers), 'metadata.NAME'];

const metadataForm = /^metadata\.(.{1,128})$/s;

function wordsIn(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** Reads a file with a heading, in which an empty cell means that the key has no such member. */
export function readKeyCsv(text: string, input: KeyCsvInput): ReadKeys {
  const { rows: all, problem } = readCsv(text);
  const undecoded = text.indexOf('\ufffd');
  if (undecoded >= 0) {
    const line = text.slice(0, undecoded).split(/\r\n|\r|\n/).length;
    return { rows: [], problems: [{ line, sentence: 'The text is not UTF-8. Save it as UTF-8.' }] };
  }
  const [heading, ...rows] = all;
  if (problem !== undefined) return { rows: [], problems: [problem] };
  if (heading === undefined || rows.length === 0) {
    const sentence =
      'The file needs a line with the names of its columns, and a line for each key.';
    return { rows: [], problems: [{ line: 1, sentence }] };
  }
  const names = heading.cells.map((name) => name.trim());
  const wrong = headingProblems(names);
  if (wrong.length > 0) {
    return { rows: [], problems: wrong.map((sentence) => ({ line: heading.line, sentence })) };
  }
  const problems: RowProblem[] = [];
  if (rows.length > maxBatch) {
    const sentence = `The file has ${rows.length} keys, and a batch at most ${maxBatch}. Split it.`;
    problems.push({ line: rows[maxBatch]?.line ?? 1, sentence });
  }
  const keys = rows.map((row) => {
    const { members, sentences } = readRow(row, names, input);
    problems.push(...sentences.map((sentence) => ({ line: row.line, sentence })));
    return { line: row.line, group: '', ...members };
  });
  problems.push(...repeatedIds(keys));
  const ordered = problems.toSorted((one, other) => one.line - other.line);
  return { rows: ordered.length === 0 ? keys : [], problems: ordered };
}

function headingProblems(names: readonly string[]): readonly string[] {
  if (names.length === 1 && names[0]?.includes(';')) {
    return ['The columns have semicolons between them: write commas.'];
  }
  const unknown = names.filter((name) => !Object.hasOwn(readers, name) && !metadataForm.test(name));
  const repeated = names.filter((name, index) => names.indexOf(name) !== index);
  return [
    ...unknown.map((name) => `There is no column "${name}". Use ${keyColumns.join(', ')}.`),
    ...[...new Set(repeated)].map((name) => `The column ${name} is there twice. Remove one.`),
    ...(names.includes('group') ? [] : ['The column group is missing. Add it.']),
  ];
}

function readRow({ cells }: CsvRow, names: readonly string[], input: KeyCsvInput) {
  const sentences: string[] = [];
  const wrong = new Set<string>();
  let members: Partial<Members> = {};
  let metadata: Readonly<Record<string, string>> = {};
  if (cells.length !== names.length) {
    sentences.push(`The row has ${cells.length} cells, and the heading ${names.length}.`);
  }
  for (const [index, name] of names.entries()) {
    const text = cells[index]?.trim() ?? '';
    if (text === '') continue;
    const [, label] = metadataForm.exec(name) ?? [];
    if (label !== undefined) {
      metadata = { ...metadata, [label]: text };
      continue;
    }
    const found = readers[name]?.(text, input) ?? {};
    if (typeof found !== 'string') {
      members = { ...members, ...found };
      continue;
    }
    wrong.add(name);
    sentences.push(`${name} ${found}`);
  }
  if (Object.keys(metadata).length > 0) members = { ...members, metadata };
  const conflicts = conflictsIn(members).filter(({ of }) => of.every((name) => !wrong.has(name)));
  return { members, sentences: [...sentences, ...conflicts.map(({ sentence }) => sentence)] };
}

/** What is missing or does not go together, and the cells whose mistakes could explain it. */
function conflictsIn(members: Partial<Members>) {
  const { group, limitNanos, owner, period, anchorDay } = members;
  const hasNoLimit = limitNanos === undefined;
  return [
    {
      of: ['group'],
      isThere: group === undefined,
      sentence: 'group is missing: it decides the models of the key.',
    },
    {
      of: ['limit', 'owner'],
      isThere: hasNoLimit && owner === undefined,
      sentence: 'limit is missing: a key needs a limit or an owner.',
    },
    {
      of: ['limit'],
      isThere: hasNoLimit && owner !== undefined && period !== undefined,
      sentence: 'period needs a limit: without one, the limit is that of the owner.',
    },
    {
      of: ['period'],
      isThere: anchorDay !== undefined && period !== 'month',
      sentence: 'anchor_day must stand beside the period month.',
    },
  ].filter(({ isThere }) => isThere);
}

function repeatedIds(rows: readonly KeyRow[]): readonly RowProblem[] {
  const first = new Map<string, number>();
  return rows.flatMap(({ id, line }) => {
    if (id === undefined) return [];
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, line);
    return earlier === undefined ? [] : [{ line, sentence: `id is that of line ${earlier} too.` }];
  });
}
