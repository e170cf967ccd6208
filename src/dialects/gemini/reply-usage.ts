/**
 * The figures of a Gemini reply in the common form; on a stream each event may hold only some of
 * them.
 */
import type { ReplyUsage } from '../../canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import { countIn, figure, hasCount, withCached } from '../usage-figures.ts';

/** A reply that gives none of these says nothing of what it used. */
const countNames: readonly string[] = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
];

/** The members of a `usageMetadata` object that are read. */
export const geminiFigureNames: readonly string[] = [
  ...countNames,
  'cachedContentTokenCount',
  'promptTokensDetails',
  'candidatesTokensDetails',
];

/**
 * A `usageMetadata` object; undefined where it says nothing (Vertex sends one with nothing but
 * `trafficType` until the last event) and where no figure is a count.
 */
export function geminiReplyUsage(usage: JsonValue | undefined): ReplyUsage | undefined {
  return hasCount(usage, countNames) ? readFigures(usage) : undefined;
}

/** The same for a reply without candidates: a blocked prompt cost nothing, and zeros go unsaid. */
export function geminiBlockedUsage(usage: JsonValue | undefined): ReplyUsage | undefined {
  return isJsonObject(usage) ? readFigures(usage) : undefined;
}

/** Thoughts are output; what tools fed in is input. */
function readFigures(usage: JsonValue | undefined): ReplyUsage {
  const input = figure(usage, 'promptTokenCount') + figure(usage, 'toolUsePromptTokenCount');
  const candidates = figure(usage, 'candidatesTokenCount');
  const thoughts = figure(usage, 'thoughtsTokenCount');
  // Google counts thoughts beside the candidates; where the total is reached without them they are
  // inside (seen through proxies).
  const areInside =
    thoughts <= candidates && input + candidates === figure(usage, 'totalTokenCount');
  const sums = withCached({
    inputTokens: input,
    cachedInputTokens: figure(usage, 'cachedContentTokenCount'),
    outputTokens: areInside ? candidates : candidates + thoughts,
    images: 0,
  });
  return {
    inputTokens: sums.inputTokens,
    outputTokens: sums.outputTokens,
    cachedInputTokens: countIn(usage, 'cachedContentTokenCount'),
    cacheWriteTokens: undefined,
    reasoningTokens: countIn(usage, 'thoughtsTokenCount'),
    audioInputTokens: audioIn(usage, 'promptTokensDetails'),
    audioOutputTokens: audioIn(usage, 'candidatesTokensDetails'),
  };
}

function audioIn(usage: JsonValue | undefined, name: string): number | undefined {
  const details = items(member(usage, name));
  const audio = details.find((detail) => member(detail, 'modality') === 'AUDIO');
  return countIn(audio, 'tokenCount');
}
