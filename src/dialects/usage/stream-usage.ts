/**
 * Tracks the usage that a stream has reported and the content that was counted after it. Usage
 * reported before the reply's finish does not cover output generated later, nor does a finish that
 * reports no output.
 */
import {
  type ReplyUsage,
  splitUsage,
  type UsageGap,
  withCountedOutput,
} from '../../canonical/reply.ts';
import type { JsonValue } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { countsIn, mergedCounts, type UsageCounts } from './usage-counts.ts';
import { gapIn, hasTotals, replyUsageOf, withImpliedOutput } from './usage-reading.ts';
import { geminiRows, openaiRows, type UsageRows } from './usage-table.ts';

export interface UsageReader {
  readonly rows: UsageRows;
  /** Adapts the counts of one object to those already known. */
  withImplied(known: UsageCounts | undefined, counts: UsageCounts): UsageCounts;
  gap(counts: UsageCounts): UsageGap;
  /** Converts the counts so far, of which `last` were stated last; undefined if none is usable. */
  read(counts: UsageCounts, last: UsageCounts): ReplyUsage | undefined;
}

const readerOf = (rows: UsageRows, excessIsReasoning = false): UsageReader => ({
  rows,
  withImplied: withImpliedOutput,
  gap: gapIn,
  read: (counts, last) =>
    hasTotals(counts) ? replyUsageOf(counts, last, excessIsReasoning) : undefined,
});

export const geminiUsageReader: UsageReader = readerOf(geminiRows);
const openaiReader = readerOf(openaiRows);
const excessReader = readerOf(openaiRows, true);

/** Reads usage objects of OpenAI's APIs, of a vendor that may state reasoning only in the total. */
export function openaiUsageReader(reasoningOutside: boolean): UsageReader {
  return reasoningOutside ? excessReader : openaiReader;
}

export interface StreamUsage {
  /** Adds a usage object; `counted` is the content so far, in tokens. */
  add(usage: JsonValue | undefined, counted: number, hasFinished: boolean): void;
  /** A lower bound while it is not final; undefined if no usage was reported. */
  soFar(counted: number): Usage | undefined;
}

export function streamUsage(reader: UsageReader): StreamUsage {
  const merge = usageMerger(reader);
  const floor = usageFloor();
  return {
    add: (stated, counted, hasFinished) => {
      const reported = merge(stated);
      if (reported !== undefined) floor.note(reported, counted, hasFinished);
    },
    soFar: floor.soFar,
  };
}

/** Undefined for an object that adds nothing, such as zeros after real counts, or is invalid. */
export type UsageMerger = (usage: JsonValue | undefined) => ReplyUsage | undefined;

export function usageMerger(reader: UsageReader): UsageMerger {
  let merged: UsageCounts | undefined;
  let before: JsonValue | undefined;
  let repeats = 0;
  let reported: ReplyUsage | undefined;
  return (usage) => {
    repeats = usage === before ? repeats + 1 : 0;
    before = usage;
    // An event that repeats another has the same object, which adds nothing after its second time.
    if (repeats < 2) reported = merge(usage);
    return reported;
  };

  function merge(usage: JsonValue | undefined): ReplyUsage | undefined {
    const counts = countsIn(usage, reader.rows);
    if (counts === undefined) return undefined;
    const last = reader.withImplied(merged, counts);
    const after = mergedCounts(merged, last);
    if (after === merged) return undefined;
    merged = after;
    const sum = reader.read(after, last);
    if (sum === undefined || sum.gap !== undefined) return sum;
    // The counts of earlier objects do not cover the output generated since.
    return reader.gap(last) === undefined ? sum : { ...sum, gap: 'output' };
  }
}

/** It grows with the content counted since the last report. */
export interface UsageFloor {
  /** Records the merged usage so far; `counted` is the content up to here, in tokens. */
  note(usage: ReplyUsage, counted: number, hasFinished: boolean): void;
  /** A lower bound while it is not final; undefined if no usage was reported. */
  soFar(counted: number): Usage | undefined;
}

export function usageFloor(): UsageFloor {
  let usage: Usage | undefined;
  /** The tokens counted when the reported output last grew. */
  let countedAtOutput = 0;
  let hasEnded = false;
  let isFinal = false;
  return {
    note: (stated, counted, hasFinished) => {
      const reported = splitUsage(stated, counted);
      const hasOutput = stated.gap !== 'output';
      if (hasOutput && reported.outputTokens > (usage?.outputTokens ?? 0))
        countedAtOutput = counted;
      usage = reported;
      hasEnded ||= hasFinished;
      isFinal ||= hasFinished && hasOutput;
    },
    soFar: (counted) => {
      if (usage === undefined || isFinal) return usage;
      // If no output was reported, the settlement counts it and notes that in the record.
      if (hasEnded && usage.outputTokens === 0) return usage;
      return withCountedOutput(usage, counted - countedAtOutput);
    },
  };
}
