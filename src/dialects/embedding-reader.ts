/**
 * Reads the vectors of an embedding reply while it arrives, one at a time, and checks at its end
 * that each input has exactly one.
 */

import { parseBoundedExactly } from '../bounded-json.ts';
import { firstMark, opensJson } from '../bytes/decode.ts';
import { type ExtractionRule, stringExtractor } from '../bytes/json/stream/string-extractor.ts';
import { readVector, type Vector, type VectorForm, vectorBytes } from '../canonical/vectors.ts';
import { UpstreamError } from '../errors.ts';
import type { FailureReason } from '../failure-reasons.ts';
import type { JsonValue } from '../json.ts';
import type { Usage } from '../money.ts';
import type { Dialect } from './dialect.ts';
import type { EmbeddingReplyFormat, EmbeddingSinks } from './embedding-codec.ts';
import { byteBounds, type FailureReport } from './taps/tap.ts';

export interface ExpectedVectors {
  readonly count: number;
  /** How many numbers each has; undefined if the caller left it to the model. */
  readonly dimensions: number | undefined;
  readonly form: VectorForm;
}

export type EmbeddingReply =
  | {
      readonly kind: 'vectors';
      /** In the order of the inputs. */
      readonly vectors: readonly Vector[];
      readonly usage: Usage | undefined;
    }
  | { readonly kind: 'failure'; readonly report: FailureReport }
  | { readonly kind: 'bad'; readonly reason: FailureReason };

export interface EmbeddingReader {
  /** @throws UpstreamError `reply_too_large` for a reply without an end */
  write(chunk: Uint8Array): void;
  end(): EmbeddingReply;
}

/** The maximum JSON text of one vector: 65,000 numbers with as many digits as servers write. */
const maxVectorText = 2 * 1024 * 1024;
/** The maximum memory of all vectors of a reply: twice that of 2,048 vectors of 8,192 floats. */
const maxVectorBytes = 128 * 1024 * 1024;

interface Result {
  vector: Vector | undefined;
  index: JsonValue | undefined;
}

export function embeddingReader(
  format: EmbeddingReplyFormat,
  { inBandFailure }: Pick<Dialect, 'inBandFailure'>,
  expected: ExpectedVectors,
): EmbeddingReader {
  const found = new FoundMembers(expected);
  const rule = { members: { ...format.members(found.sinks), error: found.errorRule } };
  const extractor = stringExtractor(rule, maxVectorText);
  const bounds = byteBounds();
  let isEmpty = true;
  let first: number | undefined;

  return {
    write: (chunk) => {
      isEmpty &&= chunk.length === 0;
      first ??= firstMark(chunk);
      bounds.add(chunk.length, true);
      extractor.write(chunk);
    },
    end: () => {
      const failure = inBandFailure({ error: valueIn(found.errorJson) ?? null });
      if (failure !== undefined) return { kind: 'failure', report: failure };
      if (isEmpty) return { kind: 'bad', reason: 'upstream_empty' };
      if (!opensJson(first)) return { kind: 'bad', reason: 'upstream_protocol_error' };
      if (!extractor.isWhole()) return { kind: 'bad', reason: 'upstream_truncated' };
      const vectors = found.vectors();
      if (vectors === undefined) return { kind: 'bad', reason: 'upstream_unusable' };
      return { kind: 'vectors', vectors, usage: format.usageOf(found.usages, vectors.length) };
    },
  };
}

/** What has been found in one document so far. */
class FoundMembers {
  errorJson: string | undefined;
  readonly usages: JsonValue[] = [];
  readonly #expected: ExpectedVectors;
  readonly #results: Result[] = [];
  #heldBytes = 0;
  #isUnusable = false;

  constructor(expected: ExpectedVectors) {
    this.#expected = expected;
  }

  readonly sinks: EmbeddingSinks = {
    begin: () => {
      if (this.#results.length >= this.#expected.count) this.#isUnusable = true;
      else this.#results.push({ vector: undefined, index: undefined });
    },
    vector: (json) => this.#takeVector(json),
    index: (json) => {
      const result = this.#results.at(-1);
      if (result !== undefined) result.index = valueIn(json);
    },
    usage: (json) => {
      const usage = valueIn(json);
      if (usage !== undefined) this.usages.push(usage);
    },
  };

  readonly errorRule: ExtractionRule = {
    text: (json) => {
      this.errorJson = json ?? 'true';
    },
  };

  /** In the order of the inputs; undefined if they can't be used. */
  vectors(): readonly Vector[] | undefined {
    return this.#isUnusable ? undefined : inOrder(this.#results, this.#expected);
  }

  #takeVector(json: string | undefined): void {
    const result = this.#results.at(-1);
    if (this.#isUnusable || result === undefined) return;
    const vector = json === undefined ? undefined : readVector(json, this.#expected.form);
    if (vector === undefined || result.vector !== undefined) {
      this.#isUnusable = true;
      return;
    }
    result.vector = vector;
    this.#heldBytes += vectorBytes(vector);
    if (this.#heldBytes > maxVectorBytes) throw new UpstreamError('body', 'reply_too_large');
  }
}

function valueIn(json: string | undefined): JsonValue | undefined {
  return json === undefined ? undefined : parseBoundedExactly(json);
}

/**
 * The vectors in the order of the inputs: by `index`, or as they came if none has one. Undefined if
 * an input has none or two, or if they are not equally long. Clients do not check any of it, and
 * would give a text the vector of another.
 */
function inOrder(
  results: readonly Result[],
  { count, dimensions }: ExpectedVectors,
): readonly Vector[] | undefined {
  if (results.length !== count) return undefined;
  const isIndexed = results.some(({ index }) => index !== undefined);
  const placed = new Map<unknown, Vector>();
  for (const [position, { vector, index }] of results.entries()) {
    if (vector !== undefined) placed.set(isIndexed ? index : position, vector);
  }
  const width = dimensions ?? results[0]?.vector?.length;
  const vectors: Vector[] = [];
  for (let position = 0; position < count; position += 1) {
    const vector = placed.get(position);
    if (vector === undefined || vector.length !== width) return undefined;
    vectors.push(vector);
  }
  return vectors;
}
