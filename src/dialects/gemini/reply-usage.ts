/**
 * The figures of a Gemini reply in the common form; on a stream each event may hold only some of
 * them.
 */
import type { ReplyUsage, UsageGap } from '../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import type { UsageReader } from '../stream-usage.ts';
import { countIn, countOrZero, hasCount, maxCount, withCachedInInput } from '../usage-counts.ts';

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
  'cacheTokensDetails',
  'promptTokensDetails',
  'candidatesTokensDetails',
];

const inputNames: readonly string[] = ['promptTokenCount', 'toolUsePromptTokenCount'];
const outputNames: readonly string[] = ['candidatesTokenCount'];

/**
 * One more `usageMetadata` object with the candidates' count that it implies: a total without it,
 * where the prompt is known. Google's total is the sum of all others, and zeros go unsaid.
 */
export function geminiStated(
  known: JsonObject | undefined,
  stated: JsonValue | undefined,
): JsonValue | undefined {
  if (!isJsonObject(stated) || hasCount(stated, outputNames)) return stated;
  const total = totalOf(stated);
  const holder = hasCount(stated, inputNames) ? stated : known;
  const output = total - inputOf(holder) - countOrZero(stated, 'thoughtsTokenCount');
  if (total === 0 || output < 0 || !hasCount(holder, inputNames)) return stated;
  return { ...stated, candidatesTokenCount: output };
}

/** What one `usageMetadata` object leaves open. */
export function geminiGap(stated: JsonValue | undefined): UsageGap {
  if (hasCount(stated, outputNames)) return undefined;
  return hasCount(stated, inputNames) || totalOf(stated) === 0 ? 'output' : 'split';
}

function inputOf(usage: JsonValue | undefined): number {
  return countOrZero(usage, 'promptTokenCount') + countOrZero(usage, 'toolUsePromptTokenCount');
}

/** A sum that nobody can have used says nothing of its parts. */
function totalOf(usage: JsonValue | undefined): number {
  const total = countOrZero(usage, 'totalTokenCount');
  return total < maxCount ? total : 0;
}

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
  const gap = geminiGap(usage);
  const candidates = countOrZero(usage, 'candidatesTokenCount');
  const thoughts = countOrZero(usage, 'thoughtsTokenCount');
  const input = gap === 'split' ? Math.max(0, totalOf(usage) - thoughts) : inputOf(usage);
  // Google counts thoughts beside the candidates; where the total is reached without them they are
  // inside (seen through proxies).
  const areInside =
    thoughts <= candidates && input + candidates === countOrZero(usage, 'totalTokenCount');
  const sums = withCachedInInput({
    inputTokens: input,
    cachedInputTokens: countOrZero(usage, 'cachedContentTokenCount'),
    outputTokens: areInside ? candidates : candidates + thoughts,
    images: 0,
  });
  const prompt = items(member(usage, 'promptTokensDetails'));
  const reply = items(member(usage, 'candidatesTokensDetails'));
  return {
    inputTokens: sums.inputTokens,
    outputTokens: sums.outputTokens,
    cachedInputTokens: countIn(usage, 'cachedContentTokenCount'),
    cacheWriteTokens: undefined,
    reasoningTokens: countIn(usage, 'thoughtsTokenCount'),
    audioInputTokens: tokensOf('AUDIO', prompt),
    audioOutputTokens: tokensOf('AUDIO', reply),
    imageInputTokens: tokensOf('IMAGE', prompt),
    imageOutputTokens: tokensOf('IMAGE', reply),
    videoInputTokens: tokensOf('VIDEO', prompt),
    ...cachedMediaIn(items(member(usage, 'cacheTokensDetails'))),
    gap,
  };
}

function cachedMediaIn(details: readonly JsonValue[]): Pick<ReplyUsage, 'cachedMedia'> {
  if (details.length === 0) return {};
  const of = (modality: string): number => tokensOf(modality, details) ?? 0;
  return { cachedMedia: { audio: of('AUDIO'), image: of('IMAGE'), video: of('VIDEO') } };
}

function tokensOf(modality: string, details: readonly JsonValue[]): number | undefined {
  const found = details.find((detail) => member(detail, 'modality') === modality);
  return found === undefined ? undefined : countIn(found, 'tokenCount');
}

/** How the usage objects of a stream are read. */
export const geminiUsageReader: UsageReader = {
  names: geminiFigureNames,
  withImplied: geminiStated,
  gap: geminiGap,
  read: geminiReplyUsage,
};
