/** Reads the usage of whole and streamed Anthropic replies. */
import {
  chargeableUsage,
  type ReplyUsage,
  type UsageGap,
  usageOfWholeReply,
} from '../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import type { PassUsage, ToolCalls, Usage } from '../../money.ts';
import type { UsageReader } from '../stream-usage.ts';
import { countIn, countOrZero, hasCount, withCachedInInput } from '../usage-counts.ts';

const names: readonly string[] = ['input_tokens', 'output_tokens'];

/**
 * The part of the usage that a `usage` object doesn't state. The passes that made the reply state
 * its output too.
 */
function anthropicGap(stated: JsonValue | undefined): UsageGap {
  const { passes } = splitIterations(items(member(stated, 'iterations')));
  const states = (one: JsonValue | undefined): boolean => hasCount(one, ['output_tokens']);
  return states(stated) || (passes.length > 0 && passes.every(states)) ? undefined : 'output';
}

/** The usage of a whole reply or of one event; undefined if it has no valid count. */
export function anthropicUsage(reply: JsonValue): Usage | undefined {
  const usage = member(reply, 'usage') ?? member(member(reply, 'message'), 'usage');
  return usageOfObject(usage);
}

/** The usage of a whole reply to charge; `counted` is called if the output is not fully stated. */
export function messageUsage(reply: JsonValue, counted: () => number): Usage | undefined {
  const replyUsage = anthropicReplyUsage(member(reply, 'usage'));
  if (replyUsage === undefined) return undefined;
  return withCachedInInput(usageOfWholeReply(replyUsage, counted));
}

/** The usage in a `usage` object. */
export function usageOfObject(usage: JsonValue | undefined): Usage | undefined {
  const replyUsage = anthropicReplyUsage(usage);
  return replyUsage === undefined ? undefined : withCachedInInput(chargeableUsage(replyUsage));
}

/**
 * Reads a `usage` object. Anthropic counts tokens read from the cache and written to it separately
 * from the input. The totals are the sum of the passes that made the reply. What else ran is stated
 * only in `iterations`, and added here: the summary of a compaction, an adviser, and the refused
 * first attempt of a call that another model then answered.
 *
 * @param last the last object of a stream, which `usage` includes
 */
export function anthropicReplyUsage(
  usage: JsonValue | undefined,
  last: JsonValue | undefined = usage,
): ReplyUsage | undefined {
  if (!hasCount(usage, names)) return undefined;
  const iterations = items(member(usage, 'iterations'));
  const sum = totals(usage, iterations);
  const cached = sum((one) => countOrZero(one, 'cache_read_input_tokens'));
  const written = sum(cacheWrites);
  const reasoning = countIn(member(usage, 'output_tokens_details'), 'thinking_tokens');
  const forAnHour = sum(hourWrites);
  const output = sum((one) => countOrZero(one, 'output_tokens'));
  return {
    inputTokens: sum((one) => countOrZero(one, 'input_tokens')) + cached + written,
    outputTokens: Math.max(output, reasoning ?? 0),
    cachedInputTokens: isStated(usage, 'cache_read_input_tokens') ? cached : undefined,
    cacheWriteTokens:
      written > 0 || isStated(usage, 'cache_creation_input_tokens') ? written : undefined,
    reasoningTokens: reasoning,
    audioInputTokens: undefined,
    audioOutputTokens: undefined,
    gap: anthropicGap(usage),
    cacheWrite1hTokens: forAnHour === 0 ? undefined : forAnHour,
    largestPassInputTokens: largestPass(iterations),
    passes: iterations.length < 2 ? undefined : iterations.map(passOf),
    toolCalls: toolCallsIn(member(usage, 'server_tool_use')),
    isInconsistent: isInconsistent(last, iterations),
  };
}

/** A count of a `usage` object or of one of its iterations. */
type CountOf = (counts: JsonValue | undefined) => number;

/** Sums up a count. The total and the sum of its passes should be equal; the larger one counts. */
function totals(
  usage: JsonValue | undefined,
  iterations: readonly JsonValue[],
): (count: CountOf) => number {
  const { passes, others } = splitIterations(iterations);
  const sumOf = (parts: readonly JsonValue[], count: CountOf): number =>
    parts.reduce<number>((sum, one) => sum + count(one), 0);
  return (count) => Math.max(count(usage), sumOf(passes, count)) + sumOf(others, count);
}

/**
 * True if a total differs from the sum of the passes that made the reply. In a stream, a total may
 * be larger than the passes that an earlier object stated.
 */
function isInconsistent(
  last: JsonValue | undefined,
  iterations: readonly JsonValue[],
): true | undefined {
  const { passes } = splitIterations(iterations);
  if (passes.length === 0) return undefined;
  const isTogether = items(member(last, 'iterations')).length > 0;
  const differs = (name: string): boolean => {
    const total = countIn(last, name);
    const parts = passes.map((pass) => countIn(pass, name));
    if (total === undefined || parts.includes(undefined)) return false;
    const sum = parts.reduce<number>((before, part) => before + (part ?? 0), 0);
    return isTogether ? sum !== total : sum > total;
  };
  return comparedNames.some(differs) ? true : undefined;
}

/** The counts that totals and passes both have. */
const comparedNames: readonly string[] = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
];

/** The passes that made the reply, and the other iterations, which the totals don't include. */
function splitIterations(iterations: readonly JsonValue[]): {
  readonly passes: readonly JsonValue[];
  readonly others: readonly JsonValue[];
} {
  const fellBack = iterations.some((one) => member(one, 'type') === 'fallback_message');
  const isOther = (one: JsonValue): boolean => {
    const type = member(one, 'type');
    return type === 'compaction' || type === 'advisor_message' || (fellBack && type === 'message');
  };
  return {
    passes: iterations.filter((one) => !isOther(one)),
    others: iterations.filter(isOther),
  };
}

function passOf(pass: JsonValue): PassUsage {
  const cached = countOrZero(pass, 'cache_read_input_tokens');
  const written = cacheWrites(pass);
  const forAnHour = hourWrites(pass);
  return {
    inputTokens: inputOf(pass),
    cachedInputTokens: cached,
    cacheWrite5mTokens: written - forAnHour,
    cacheWrite1hTokens: forAnHour,
    outputTokens: countOrZero(pass, 'output_tokens'),
  };
}

/** The tokens written to the cache: of the total and the sum of its parts, the larger. */
function cacheWrites(usage: JsonValue | undefined): number {
  const forMinutes = countOrZero(member(usage, 'cache_creation'), 'ephemeral_5m_input_tokens');
  const total = countOrZero(usage, 'cache_creation_input_tokens');
  return Math.max(total, forMinutes + hourWrites(usage));
}

function hourWrites(usage: JsonValue | undefined): number {
  return countOrZero(member(usage, 'cache_creation'), 'ephemeral_1h_input_tokens');
}

/** The largest prompt of all iterations. */
function largestPass(iterations: readonly JsonValue[]): number | undefined {
  if (iterations.length < 2) return undefined;
  return Math.max(...iterations.map(inputOf));
}

function inputOf(usage: JsonValue | undefined): number {
  return (
    countOrZero(usage, 'input_tokens') +
    countOrZero(usage, 'cache_read_input_tokens') +
    cacheWrites(usage)
  );
}

/** Anthropic states the number of calls of each of its tools, so that a missing count is zero. */
function toolCallsIn(stated: JsonValue | undefined): ToolCalls {
  if (!isJsonObject(stated)) return noToolCalls;
  return {
    web_search: countOrZero(stated, 'web_search_requests'),
    web_fetch: countOrZero(stated, 'web_fetch_requests'),
  };
}

const noToolCalls: ToolCalls = {};

/** The members of `usage` that are read. */
const usageMembers: readonly string[] = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
  'output_tokens_details',
  'server_tool_use',
  'iterations',
];

function isStated(usage: JsonValue | undefined, name: string): boolean {
  return countIn(usage, name) !== undefined;
}

/** The members of `usage` about the prompt. */
const promptNames: readonly string[] = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
];

/**
 * Takes the counts of the prompt that are known already out of an object in which all of them are
 * zero, in its passes too: servers such as SGLang end a stream with `input_tokens: 0` because its
 * first event had the real count, and no prompt is empty.
 */
function withoutEmptyPrompt(
  known: JsonObject | undefined,
  usage: JsonValue | undefined,
): JsonValue | undefined {
  const isEmpty = (counts: JsonValue | undefined): boolean => inputOf(counts) === 0;
  const states = [usage, ...items(member(usage, 'iterations'))];
  if (known === undefined || !isJsonObject(usage) || !states.every(isEmpty)) return usage;
  const isKnown = (name: string): boolean =>
    promptNames.includes(name) && Object.hasOwn(known, name);
  return Object.fromEntries(Object.entries(usage).filter(([name]) => !isKnown(name)));
}

/** Reads the usage objects of a stream. */
export const anthropicUsageReader: UsageReader = {
  names: usageMembers,
  withImplied: withoutEmptyPrompt,
  gap: anthropicGap,
  read: anthropicReplyUsage,
};
