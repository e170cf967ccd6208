/**
 * Reads one candidate of a whole or streamed reply: its parts, and the metadata that is emitted at
 * the end.
 */
import type { ContentEvent, TokenLogprob } from '../../../canonical/reply.ts';
import {
  isJsonNumber,
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
} from '../../../json.ts';
import type { CandidateContext } from './calls.ts';
import { type Finish, finishOf, moreSevereFinish } from './finish.ts';
import { citationsIn } from './grounding.ts';
import { type PartReader, partReader } from './read-part.ts';

/** Reads one candidate. */
export interface CandidateReader {
  read(candidate: JsonValue): void;
  /** Emits the metadata that was held back, but not the finish. */
  close(): void;
  /** How the candidate ended. */
  finish(blockReason: string | undefined): Finish;
  /** Whether a finish reason was received. */
  isFinished(): boolean;
}

/** What one candidate has contained so far, besides its parts. */
interface CandidateState {
  finishReason: string | undefined;
  message: string | undefined;
  grounding: Map<string, JsonValue> | undefined;
  ratings: readonly JsonObject[];
  readonly metadata: Map<string, JsonObject>;
}

/** Creates the reader of one candidate. */
export function candidateReader(context: CandidateContext): CandidateReader {
  const { choice, emit } = context;
  const parts = partReader(context);
  const state: CandidateState = {
    finishReason: undefined,
    message: undefined,
    grounding: undefined,
    ratings: [],
    metadata: new Map(),
  };
  return {
    read: (candidate) => {
      for (const part of items(member(member(candidate, 'content'), 'parts'))) parts.read(part);
      const tokens = logprobsIn(member(candidate, 'logprobsResult'));
      if (tokens.length > 0) emit({ type: 'logprobs', choice, tokens });
      readMembers(state, candidate);
    },
    close: () => {
      parts.close();
      emitMetadata(state, parts, context);
    },
    finish: (blockReason) => {
      const { finishReason, message } = state;
      const hasOutput = parts.hasOutput();
      const hasCalls = parts.hasCalls();
      const finish = finishOf({ finishReason, message, blockReason, hasOutput, hasCalls });
      // Only the token limit may truncate a call. Otherwise an agent would continue without it.
      const isTruncated = parts.hasTruncatedCall() && finish.reason !== 'length';
      return isTruncated ? { ...finish, unusable: 'upstream_unusable_output' } : finish;
    },
    isFinished: () => state.finishReason !== undefined,
  };
}

function readMembers(state: CandidateState, candidate: JsonValue): void {
  const finish = nonEmpty(member(candidate, 'finishReason'));
  if (finish !== undefined) state.finishReason = moreSevereFinish(state.finishReason, finish);
  state.message = nonEmpty(member(candidate, 'finishMessage')) ?? state.message;
  const found = member(candidate, 'groundingMetadata');
  if (isJsonObject(found)) {
    state.grounding ??= new Map();
    for (const [name, value] of Object.entries(found)) state.grounding.set(name, value);
  }
  for (const [name, eventName] of forwardedMetadata) {
    const value = member(candidate, name);
    if (isJsonObject(value)) state.metadata.set(eventName, value);
  }
  const rated = blockedRatings(member(candidate, 'safetyRatings'));
  if (rated.length > 0) state.ratings = rated;
}

function emitMetadata(
  { grounding, metadata, ratings }: CandidateState,
  parts: PartReader,
  { choice, emit }: CandidateContext,
): void {
  if (grounding !== undefined) {
    const found = Object.fromEntries(grounding);
    const citations = citationsIn(found, parts.visibleText());
    if (citations.length > 0) emit({ type: 'citations', choice, citations });
    emit(providerEvent(choice, 'grounding_metadata', found));
  }
  for (const [name, value] of metadata) emit(providerEvent(choice, name, value));
  if (ratings.length > 0) emit(providerEvent(choice, 'safety_ratings', ratings));
  const others = parts.others();
  if (others.length > 0) emit(providerEvent(choice, 'parts', others));
}

/**
 * Metadata that is passed on unchanged, by Google's name and by its name in the event. In a stream
 * the last value counts.
 */
const forwardedMetadata = [
  ['citationMetadata', 'citation_metadata'],
  ['urlContextMetadata', 'url_context_metadata'],
] as const;

function nonEmpty(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** There may be fewer lists of alternatives than chosen tokens, or none. */
function logprobsIn(result: JsonValue | undefined): readonly TokenLogprob[] {
  const tops = items(member(result, 'topCandidates'));
  return items(member(result, 'chosenCandidates')).flatMap((chosen, index) =>
    tokenOf(chosen).map((token) => ({
      ...token,
      top: items(member(tops[index], 'candidates')).flatMap(tokenOf),
    })),
  );
}

function tokenOf(candidate: JsonValue): readonly Omit<TokenLogprob, 'top'>[] {
  const token = member(candidate, 'token');
  const logprob = member(candidate, 'logProbability');
  return typeof token === 'string' && isJsonNumber(logprob) ? [{ token, logprob }] : [];
}

function blockedRatings(ratings: JsonValue | undefined): readonly JsonObject[] {
  const all = items(ratings).filter(isJsonObject);
  return all.some((rating) => member(rating, 'blocked') === true) ? all : [];
}

function providerEvent(
  choice: number,
  name: string,
  value: JsonObject | readonly JsonObject[],
): ContentEvent {
  return { type: 'provider_specific', choice, provider: 'gemini', name, value };
}
