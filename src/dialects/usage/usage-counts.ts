/**
 * Reads the counts of a usage object by the rows of its table, without trusting them: each is an
 * integer of at least 0, or missing.
 */
import {
  isExactNumber,
  isJsonObject,
  type JsonNumber,
  type JsonObject,
  type JsonValue,
  member,
  numberOf,
} from '../../json.ts';
import type { Nanos, UsageRemarks } from '../../money.ts';
import { nanosOfDecimal } from '../../prices/amount.ts';
import type { CountName, Place, UsageRow, UsageRows } from './usage-table.ts';

/** The counts that a usage object states, each once however many members state it. */
export interface UsageCounts extends Readonly<Partial<Record<CountName, number | undefined>>> {
  readonly places: Readonly<Partial<Record<CountName, Place>>>;
  readonly remarks?: UsageRemarks;
  /** Anthropic's counts of each time that it ran a model. */
  readonly iterations?: readonly JsonValue[];
}

type Writable = { -readonly [Name in keyof UsageCounts]: UsageCounts[Name] };

interface Reading {
  readonly counts: Writable;
  places: Partial<Record<CountName, Place>>;
  isInconsistent: boolean;
  unknown: string[] | undefined;
  costNanos: Nanos | undefined;
  ownKeyNanos: Nanos | undefined;
}

/**
 * Far above what any model uses, and small enough for exact sums. Larger values are read as this
 * one.
 */
export const maxCount: number = 2 ** 40;

const noPlaces: UsageCounts['places'] = {};
export const noCounts: UsageCounts = { places: noPlaces };

export function countsIn(usage: JsonValue | undefined, rows: UsageRows): UsageCounts | undefined {
  if (!isJsonObject(usage)) return undefined;
  const counts: Writable = { places: noPlaces };
  const reading: Reading = {
    counts,
    places: noPlaces,
    isInconsistent: false,
    unknown: undefined,
    costNanos: undefined,
    ownKeyNanos: undefined,
  };
  addMembers(reading, usage, rows, '');
  counts.places = reading.places;
  if (contradictsParts(counts)) reading.isInconsistent = true;
  if (reading.isInconsistent || reading.unknown !== undefined || reading.costNanos !== undefined) {
    counts.remarks = remarksOf(reading, usage);
  }
  return counts;
}

function contradictsParts(counts: UsageCounts): boolean {
  const { input = 0, uncached = 0, cached = 0, written = 0, written5m = 0, written1h = 0 } = counts;
  const writes = written5m + written1h;
  return (
    (input > 0 && uncached > 0 && uncached + cached !== input) ||
    (written > 0 && writes > 0 && written !== writes)
  );
}

function remarksOf(reading: Reading, usage: JsonObject): UsageRemarks {
  const { isInconsistent, unknown, costNanos, ownKeyNanos } = reading;
  // With a key of the operator's own, OpenRouter charges a fee, and the provider the rest.
  const other = member(usage, 'is_byok') === true ? (ownKeyNanos ?? 0n) : 0n;
  return {
    ...(isInconsistent ? { isInconsistent } : {}),
    ...(unknown === undefined ? {} : { unknown }),
    ...(costNanos === undefined ? {} : { costNanos: costNanos + other }),
  };
}

function addMembers(reading: Reading, holder: JsonObject, rows: UsageRows, path: string): void {
  for (const name in holder) {
    const value = holder[name];
    // Most members of a compatible server's usage that are not counts are null.
    if (value === undefined || value === null || typeof value === 'string') continue;
    const row = rows.get(name);
    if (row === undefined) addUnknown(reading, value, path + name);
    else if (typeof value === 'number' || isExactNumber(value)) addNumber(reading, value, row);
    else if (Array.isArray(value)) addList(reading, value, row);
    else if (row.members !== undefined && isJsonObject(value)) {
      addMembers(reading, value, row.members, `${path}${name}.`);
    }
  }
}

function addNumber(reading: Reading, value: JsonNumber, row: UsageRow): void {
  const { count: name, place } = row;
  if (row.cost !== undefined) addCost(reading, value, row.cost);
  if (name === undefined) return;
  const count = asCount(value);
  if (count === undefined) return;
  const { counts } = reading;
  const before = counts[name] ?? 0;
  // Servers that know several names of a count send zeros under those that they don't use.
  if (before !== 0 && count !== 0 && before !== count) reading.isInconsistent = true;
  if (count > before || before === 0) counts[name] = Math.max(count, before);
  if (place === undefined || count < before) return;
  if (reading.places === noPlaces) reading.places = {};
  reading.places[name] = place;
}

function addCost(
  reading: Reading,
  value: JsonNumber,
  { exponent, ifOwnKey }: NonNullable<UsageRow['cost']>,
): void {
  const nanos = nanosOfDecimal(value, exponent);
  if (ifOwnKey) reading.ownKeyNanos = nanos;
  else reading.costNanos = nanos ?? reading.costNanos;
}

/** In a list of counts, a modality may be listed several times, once for each part. */
function addList({ counts }: Reading, list: readonly JsonValue[], row: UsageRow): void {
  const { modalities, isIterations } = row;
  if (isIterations && list.length > 0) counts.iterations = list;
  if (modalities === undefined) return;
  for (const detail of list) {
    const modality = member(detail, 'modality');
    const count = countIn(detail, 'tokenCount');
    if (typeof modality !== 'string' || count === undefined) continue;
    const name = Object.hasOwn(modalities, modality) ? modalities[modality] : undefined;
    if (name !== undefined) counts[name] = Math.min(maxCount, (counts[name] ?? 0) + count);
  }
}

/** Only so many unknown numbers are named, and none whose name is long or could be a text. */
const maxUnknown = 8;
const maxUnknownDepth = 4;
const safeName = /^[\w.:/-]{1,64}$/;

function addUnknown(reading: Reading, value: JsonValue, path: string, depth = 0): void {
  const { unknown = [] } = reading;
  if (unknown.length >= maxUnknown || depth > maxUnknownDepth || !safeName.test(path)) return;
  const number = numberOf(value);
  // A zero counts nothing.
  if (number !== undefined && number !== 0) reading.unknown = [...unknown, path];
  if (!isJsonObject(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    addUnknown(reading, inner, `${path}.${name}`, depth + 1);
  }
}

/** Reads a count; undefined if the member is absent, negative, a fraction or not a number. */
export function countIn(holder: JsonValue | undefined, name: string): number | undefined {
  return asCount(member(holder, name));
}

function asCount(value: JsonValue | undefined): number | undefined {
  const count = typeof value === 'number' ? value : numberOf(value);
  if (count === undefined || !(count >= 0)) return undefined;
  if (count > maxCount) return maxCount;
  return Number.isInteger(count) ? count : undefined;
}

/**
 * The counts of a usage object together with those before it. A later count replaces an earlier
 * one; an absent or invalid one does not. An object of zeros after real counts is ignored, because
 * some servers send one: then the result is `before`.
 */
export function mergedCounts(before: UsageCounts | undefined, after: UsageCounts): UsageCounts {
  if (before === undefined) return after;
  const known = before.remarks ?? after.remarks;
  const remarks = known === undefined ? {} : { remarks: { ...known, ...after.remarks } };
  const isEmpty = Object.values(after).every((count) => count === 0 || typeof count !== 'number');
  if (isEmpty && after.iterations === undefined) {
    return after.remarks === undefined ? before : { ...before, ...remarks };
  }
  return { ...before, ...after, places: { ...before.places, ...after.places }, ...remarks };
}
