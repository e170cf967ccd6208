/** Reads the parts of a usage record that are stored as JSON; undefined where one is not valid. */
import { storedReason } from '../../../failure-reasons.ts';
import { isJsonObject, items, type JsonValue, member } from '../../../json.ts';
import { type CostMember, costMembers, type Nanos, type ToolCalls } from '../../../money.ts';
import { isNanos } from '../../../ports/limits/quota-input.ts';
import type { CallAttempt, RecordedLine } from '../../../ports/usage-sink.ts';

/** An amount as {@link jsonWithBigints} writes it. */
export function nanosFrom(value: JsonValue | undefined): Nanos | undefined {
  if (typeof value !== 'string' || !/^\d{1,16}$/.test(value)) return undefined;
  const nanos = BigInt(value);
  return isNanos(nanos) ? nanos : undefined;
}

/** An object whose values are strings, such as metadata. */
export function stringsFrom(
  value: JsonValue | undefined,
): Readonly<Record<string, string>> | undefined {
  if (!isJsonObject(value)) return undefined;
  const entries = allOf(Object.entries(value), ([name, label]) =>
    typeof label === 'string' ? ([name, label] as const) : undefined,
  );
  return entries === undefined ? undefined : Object.fromEntries(entries);
}

export function linesFrom(value: JsonValue | undefined): readonly RecordedLine[] | undefined {
  return listOf(value, (item) => {
    const subject = member(item, 'subject');
    const period = member(item, 'period');
    const heldNanos = nanosFrom(member(item, 'heldNanos'));
    if (typeof subject !== 'string' || typeof period !== 'string') return undefined;
    return heldNanos === undefined ? undefined : { subject, period, heldNanos };
  });
}

export function attemptsFrom(value: JsonValue | undefined): readonly CallAttempt[] | undefined {
  return listOf(value, (item) => {
    const channelId = member(item, 'channelId');
    const status = member(item, 'status');
    const reason = member(item, 'reason');
    const mayHaveRun = member(item, 'mayHaveRun');
    const durationMs = member(item, 'durationMs');
    if (typeof channelId !== 'string' || typeof mayHaveRun !== 'boolean') return undefined;
    if (typeof durationMs !== 'number') return undefined;
    if (status !== undefined && typeof status !== 'number') return undefined;
    if (reason !== undefined && typeof reason !== 'string') return undefined;
    return { channelId, status, reason: storedReason(reason), mayHaveRun, durationMs };
  });
}

export function toolCallsFrom(value: JsonValue | undefined): ToolCalls | undefined {
  if (!isJsonObject(value)) return undefined;
  const calls: { [Row in CostMember]?: number } = {};
  for (const row of costMembers) {
    const count = member(value, row);
    if (typeof count === 'number') calls[row] = count;
  }
  return calls;
}

function listOf<T>(
  value: JsonValue | undefined,
  read: (item: JsonValue) => T | undefined,
): readonly T[] | undefined {
  return Array.isArray(value) ? allOf(items(value), read) : undefined;
}

function allOf<T, U>(
  list: readonly T[],
  read: (item: T) => U | undefined,
): readonly U[] | undefined {
  const found: U[] = [];
  for (const item of list) {
    const value = read(item);
    if (value === undefined) return undefined;
    found.push(value);
  }
  return found;
}
