/**
 * Passes a large embeddings reply on unchanged, counts its vectors, and reads the usage that
 * follows them. No vector is parsed or buffered.
 */

import { parseBoundedExactly } from '../../bounded-json.ts';
import { jsonWatch } from '../../bytes/json/stream/watch.ts';
import { emptyBytes } from '../../bytes/sse.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { JsonValue } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { byteBounds, type FailureReport, type StreamTap } from './tap.ts';

export interface EmbeddingTapOptions {
  /** The top-level members that state the usage. */
  readonly usageMembers: readonly string[];
  /** The top-level member that lists the vectors; undefined if the reply is a single one. */
  readonly vectorsMember: string | undefined;
  /** Reads a whole reply, or one that has only `usageMembers`. */
  readonly readUsage: (reply: JsonValue) => Usage | undefined;
  readonly inBandFailure: (document: JsonValue) => FailureReport | undefined;
  /** The remark in the usage record for a complete reply with this number of vectors. */
  readonly remarkOn: (vectors: number) => FailureReason | undefined;
}

export function embeddingTap(options: EmbeddingTapOptions): StreamTap {
  const { usageMembers, vectorsMember, readUsage, inBandFailure, remarkOn } = options;
  const watch = jsonWatch({
    capture: [...usageMembers, 'error'],
    ...(vectorsMember === undefined
      ? {}
      : { countIn: { array: vectorsMember, member: undefined } }),
    skipsNumbers: true,
  });
  const bounds = byteBounds();
  let failure: FailureReport | undefined;
  let bytes = 0;

  const captured = (name: string): JsonValue | undefined => {
    const text = watch.captured(name);
    return text === undefined ? undefined : parseBoundedExactly(text);
  };
  const usageIn = (name: string): readonly (readonly [string, JsonValue])[] => {
    const value = captured(name);
    return value === undefined ? [] : [[name, value]];
  };

  return {
    hasBegun: () => bytes > 0,
    write: (chunk) => {
      bounds.add(chunk.length, true);
      watch.write(chunk);
      const error = captured('error');
      if (error !== undefined) failure ??= inBandFailure({ error });
      if (failure !== undefined) return emptyBytes;
      bytes += chunk.length;
      return chunk;
    },
    end: () => emptyBytes,
    finished: () => false,
    complete: () => watch.end().complete,
    failure: () => failure,
    usage: () => readUsage(Object.fromEntries(usageMembers.flatMap(usageIn))),
    // A vector has no tokens.
    countedTokens: () => 0,
    progress: () => 0,
    breakOff: () => undefined,
    remark: () => (vectorsMember === undefined ? undefined : remarkOn(watch.end().elements)),
  };
}
