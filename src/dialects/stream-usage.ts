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
} from '../canonical/reply.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Usage } from '../money.ts';
import { mergedUsage, withCachedInInput } from './usage-counts.ts';

/** Reads the usage objects of a dialect. */
export interface UsageReader {
  /** The members that are kept of each object. */
  readonly names: readonly string[];
  /** Adds to a usage object what it implies together with the members already known. */
  withImplied(known: JsonObject | undefined, usage: JsonValue | undefined): JsonValue | undefined;
  /** Returns which counts one object leaves open. */
  gap(usage: JsonValue | undefined): UsageGap;
  /** Converts the merged object, of which `last` is a part; undefined if it has no usable count. */
  read(usage: JsonObject, last: JsonValue | undefined): ReplyUsage | undefined;
}

/** The usage of one stream. */
export interface StreamUsage {
  /** Adds a usage object; `counted` is the content so far, in tokens. */
  add(usage: JsonValue | undefined, counted: number, hasFinished: boolean): void;
  /**
   * Returns the final usage, or a lower bound of it while it is not final; undefined if no usage
   * was reported.
   */
  soFar(counted: number): Usage | undefined;
}

/** Starts without any usage. */
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

/**
 * Merges the usage objects of a stream. Returns the merged usage, or undefined for an object that
 * adds nothing, such as zeros after real counts, or that makes no valid usage.
 */
export type UsageMerger = (usage: JsonValue | undefined) => ReplyUsage | undefined;

/** Creates the merger of one stream. */
export function usageMerger(reader: UsageReader): UsageMerger {
  let merged: JsonObject | undefined;
  return (usage) => {
    const stated = reader.withImplied(merged, usage);
    const after = mergedUsage(merged, stated, reader.names);
    if (after === undefined || after === merged) return undefined;
    merged = after;
    const reported = reader.read(after, stated);
    return reported === undefined ? undefined : withGap(reported, reader.gap(stated));
  };
}

/**
 * Marks merged usage as lacking an output count if the last object has none: the counts of earlier
 * objects do not cover the output generated since.
 */
export function withGap(reported: ReplyUsage, last: UsageGap): ReplyUsage {
  if (last === undefined || reported.gap !== undefined) return reported;
  return { ...reported, gap: 'output' };
}

/**
 * A lower bound of a stream's usage, which grows with the content counted since the last report.
 */
export interface UsageFloor {
  /** Records the merged usage so far; `counted` is the content up to here, in tokens. */
  note(usage: ReplyUsage, counted: number, hasFinished: boolean): void;
  /**
   * Returns the final usage, or a lower bound of it while it is not final; undefined if no usage
   * was reported.
   */
  soFar(counted: number): Usage | undefined;
}

/** Starts without any usage. */
export function usageFloor(): UsageFloor {
  let usage: Usage | undefined;
  /** The tokens counted when the reported output last grew. */
  let countedAtOutput = 0;
  let hasEnded = false;
  let isFinal = false;
  return {
    note: (stated, counted, hasFinished) => {
      const reported = withCachedInInput(splitUsage(stated, counted));
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
