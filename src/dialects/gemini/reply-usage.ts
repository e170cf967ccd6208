/**
 * Reads the usage of a Gemini reply into the common form. In a stream each event may have only some
 * of the counts.
 */
import type { ReplyUsage, UsageGap } from '../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import type { UsageReader } from '../stream-usage.ts';
import { countIn, countOrZero, hasCount, maxCount, withCachedInInput } from '../usage-counts.ts';

/** A reply without any of these counts doesn't state its usage. */
const countNames: readonly string[] = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
];

/** The members of `usageMetadata` that are read. */
export const geminiUsageMembers: readonly string[] = [
  ...countNames,
  'cachedContentTokenCount',
  'cacheTokensDetails',
  'promptTokensDetails',
  'candidatesTokensDetails',
];

const inputNames: readonly string[] = ['promptTokenCount', 'toolUsePromptTokenCount'];
const outputNames: readonly string[] = ['candidatesTokenCount'];

/**
 * Adds the `candidatesTokenCount` to a `usageMetadata` object that has only a total, if the prompt
 * count is known. Google's total is the sum of all counts, and Google leaves out zeros.
 */
export function withImpliedOutput(
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

/** The part of the usage that a `usageMetadata` object doesn't state. */
export function geminiGap(stated: JsonValue | undefined): UsageGap {
  if (hasCount(stated, outputNames)) return undefined;
  return hasCount(stated, inputNames) || totalOf(stated) === 0 ? 'output' : 'split';
}

function inputOf(usage: JsonValue | undefined): number {
  return countOrZero(usage, 'promptTokenCount') + countOrZero(usage, 'toolUsePromptTokenCount');
}

/** An implausibly large total is ignored. */
function totalOf(usage: JsonValue | undefined): number {
  const total = countOrZero(usage, 'totalTokenCount');
  return total < maxCount ? total : 0;
}

/**
 * Reads a `usageMetadata` object. Undefined if it has no valid count; Vertex sends one with only
 * `trafficType` until the last event.
 */
export function geminiReplyUsage(usage: JsonValue | undefined): ReplyUsage | undefined {
  return hasCount(usage, countNames) ? readCounts(usage) : undefined;
}

/**
 * Reads the usage of a blocked prompt, which costs nothing if no count is stated: Google leaves out
 * zeros.
 */
export function geminiBlockedUsage(usage: JsonValue | undefined): ReplyUsage | undefined {
  return isJsonObject(usage) ? readCounts(usage) : undefined;
}

/** Thoughts count as output; prompt tokens of tool use count as input. */
function readCounts(usage: JsonValue | undefined): ReplyUsage {
  const gap = geminiGap(usage);
  const candidates = countOrZero(usage, 'candidatesTokenCount');
  const thoughts = countOrZero(usage, 'thoughtsTokenCount');
  const input = gap === 'split' ? Math.max(0, totalOf(usage) - thoughts) : inputOf(usage);
  // Google counts thoughts separately from the candidates. Some proxies include them: then prompt
  // and candidates alone add up to the total.
  const includeThoughts =
    thoughts <= candidates && input + candidates === countOrZero(usage, 'totalTokenCount');
  const sums = withCachedInInput({
    inputTokens: input,
    cachedInputTokens: countOrZero(usage, 'cachedContentTokenCount'),
    outputTokens: includeThoughts ? candidates : candidates + thoughts,
    images: 0,
  });
  const isCachedAbove = sums.inputTokens > input && hasCount(usage, ['promptTokenCount']);
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
    isInconsistent: isCachedAbove ? true : undefined,
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

/** Reads the usage objects of a stream. */
export const geminiUsageReader: UsageReader = {
  names: geminiUsageMembers,
  withImplied: withImpliedOutput,
  gap: geminiGap,
  read: geminiReplyUsage,
};
