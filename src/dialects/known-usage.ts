/**
 * The usage that a stream has stated so far, and what was counted since. Figures that came before
 * the reply's finish say nothing of what was made behind them.
 */
import type { JsonObject, JsonValue } from '../json.ts';
import type { Usage } from '../money.ts';
import { mergedFigures } from './usage-figures.ts';

/** How a dialect's usage objects are read. */
export interface UsageReader {
  /** The members that are kept. */
  readonly names: readonly string[];
  /** Undefined where the object says nothing, or something absurd. */
  read(usage: JsonObject): Usage | undefined;
}

/** The usage of one stream. */
export interface KnownUsage {
  /** One more usage object; `counted` is the content so far, in tokens. */
  add(usage: JsonValue | undefined, counted: number, hasFinished: boolean): void;
  /** The last figures, or a floor of what was used; undefined where none came. */
  soFar(counted: number): Usage | undefined;
}

/** None yet. */
export function knownUsage({ names, read }: UsageReader): KnownUsage {
  let merged: JsonObject | undefined;
  let usage: Usage | undefined;
  /** What had been counted when the figure of the output last grew. */
  let countedThen = 0;
  let isFinal = false;
  return {
    add: (stated, counted, hasFinished) => {
      const after = mergedFigures(merged, stated, names);
      const figures = after === undefined || after === merged ? undefined : read(after);
      if (figures === undefined) return;
      merged = after;
      if (figures.outputTokens > (usage?.outputTokens ?? 0)) countedThen = counted;
      usage = figures;
      isFinal ||= hasFinished;
    },
    soFar: (counted) =>
      usage === undefined || isFinal
        ? usage
        : { ...usage, outputTokens: usage.outputTokens + counted - countedThen },
  };
}
