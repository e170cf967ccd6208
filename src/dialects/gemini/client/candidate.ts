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
import { type CandidateEnding, endingOf } from './ending.ts';
import { moreSevereFinish } from './finish-reasons.ts';
import { citationsIn } from './grounding.ts';
import { partReader } from './read-part.ts';

/** Reads one candidate. */
export interface CandidateReader {
  read(candidate: JsonValue): void;
  /** Emits the metadata that was held back, but not the finish. */
  close(): void;
  /** How the candidate ended. */
  ending(blockReason: string | undefined): CandidateEnding;
  /** Whether a finish reason was received. */
  isFinished(): boolean;
}

/** Creates the reader of one candidate. */
export function candidateReader(context: CandidateContext): CandidateReader {
  const { choice, emit } = context;
  const parts = partReader(context);
  let finishReason: string | undefined;
  let message: string | undefined;
  let grounding: Map<string, JsonValue> | undefined;
  let ratings: readonly JsonObject[] = [];
  const metadata = new Map<string, JsonObject>();

  return {
    read: (candidate) => {
      for (const part of items(member(member(candidate, 'content'), 'parts'))) parts.read(part);
      const tokens = logprobsIn(member(candidate, 'logprobsResult'));
      if (tokens.length > 0) emit({ type: 'logprobs', choice, tokens });
      const finish = nonEmpty(member(candidate, 'finishReason'));
      if (finish !== undefined) finishReason = moreSevereFinish(finishReason, finish);
      message = nonEmpty(member(candidate, 'finishMessage')) ?? message;
      const found = member(candidate, 'groundingMetadata');
      if (isJsonObject(found)) {
        grounding ??= new Map();
        for (const [name, value] of Object.entries(found)) grounding.set(name, value);
      }
      for (const [name, eventName] of forwardedMetadata) {
        const value = member(candidate, name);
        if (isJsonObject(value)) metadata.set(eventName, value);
      }
      const rated = blockedRatings(member(candidate, 'safetyRatings'));
      if (rated.length > 0) ratings = rated;
    },
    close: () => {
      parts.close();
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
    },
    ending: (blockReason) => {
      const hasOutput = parts.hasOutput();
      const ending = endingOf({
        finishReason,
        message,
        blockReason,
        hasOutput,
        hasCalls: parts.hasCalls(),
      });
      // Only the token limit may truncate a call. Otherwise an agent would continue without it.
      const isTruncated = parts.hasTruncatedCall() && ending.reason !== 'length';
      return isTruncated ? { ...ending, unusable: 'upstream_unusable_output' } : ending;
    },
    isFinished: () => finishReason !== undefined,
  };
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
