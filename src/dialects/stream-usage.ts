/**
 * The usage that a stream has stated so far, and what was counted since. Figures that came before
 * the reply's finish say nothing of what was made behind them, nor does a finish that states no
 * output.
 */
import { type ReplyUsage, splitUsage, type UsageGap } from '../canonical/reply.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Usage } from '../money.ts';
import { mergedUsage, withCachedInInput } from './usage-counts.ts';

/** How a dialect's usage objects are read. */
export interface UsageReader {
  /** The members that are kept. */
  readonly names: readonly string[];
  /** One more object, with what it implies of those that are known. */
  stated(known: JsonObject | undefined, usage: JsonValue | undefined): JsonValue | undefined;
  /** What one object leaves open. */
  gap(usage: JsonValue | undefined): UsageGap;
  /** Undefined where the objects together say nothing, or something absurd. */
  read(usage: JsonObject): ReplyUsage | undefined;
}

/** The usage objects of one stream. */
export interface StreamUsage {
  /** One more usage object; `counted` is the content so far, in tokens. */
  add(usage: JsonValue | undefined, counted: number, hasFinished: boolean): void;
  /** The last figures, or a floor of what was used; undefined where none came. */
  soFar(counted: number): Usage | undefined;
}

/** None yet. */
export function streamUsage(reader: UsageReader): StreamUsage {
  const merge = usageMerger(reader);
  const floor = usageFloor();
  return {
    add: (stated, counted, hasFinished) => {
      const figures = merge(stated);
      if (figures !== undefined) floor.note(figures, counted, hasFinished);
    },
    soFar: floor.soFar,
  };
}

/**
 * Takes in one usage object after the other, and gives all of them together; undefined for one that
 * adds nothing, such as zeros behind figures, or something absurd.
 */
export function usageMerger(
  reader: UsageReader,
): (usage: JsonValue | undefined) => ReplyUsage | undefined {
  let merged: JsonObject | undefined;
  return (usage) => {
    const stated = reader.stated(merged, usage);
    const after = mergedUsage(merged, stated, reader.names);
    if (after === undefined || after === merged) return undefined;
    merged = after;
    const figures = reader.read(after);
    return figures === undefined ? undefined : withGap(figures, reader.gap(stated));
  };
}

/**
 * Figures of several objects: what came before the last does not say how long the answer is now.
 */
export function withGap(figures: ReplyUsage, last: UsageGap): ReplyUsage {
  if (last === undefined || figures.gap !== undefined) return figures;
  return { ...figures, gap: 'output' };
}

/** The usage of a stream, of which figures say less and less as it goes on. */
export interface UsageFloor {
  /** All that was stated so far; `counted` is the content up to there, in tokens. */
  note(usage: ReplyUsage, counted: number, hasFinished: boolean): void;
  /** The last figures, or a floor of what was used; undefined where none came. */
  soFar(counted: number): Usage | undefined;
}

/** Nothing is stated yet. */
export function usageFloor(): UsageFloor {
  let usage: Usage | undefined;
  /** What had been counted when the figure of the output last grew. */
  let countedAtOutput = 0;
  let hasEnded = false;
  let isFinal = false;
  return {
    note: (stated, counted, hasFinished) => {
      const figures = withCachedInInput(splitUsage(stated, counted));
      const hasOutput = stated.gap !== 'output';
      if (hasOutput && figures.outputTokens > (usage?.outputTokens ?? 0)) countedAtOutput = counted;
      usage = figures;
      hasEnded ||= hasFinished;
      isFinal ||= hasFinished && hasOutput;
    },
    soFar: (counted) => {
      if (usage === undefined || isFinal) return usage;
      // The settlement counts an output of which nothing was stated, and says so in the record.
      if (hasEnded && usage.outputTokens === 0) return usage;
      return { ...usage, outputTokens: usage.outputTokens + counted - countedAtOutput };
    },
  };
}
