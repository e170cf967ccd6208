/** The figures of an OpenAI-shaped reply, whichever way its vendor counts reasoning. */
import type { ReplyUsage, UsageGap } from '../../canonical/reply.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../json.ts';
import type { ToolCalls } from '../../money.ts';
import type { UsageReader } from '../known-usage.ts';
import { countIn, figure, hasCount, maxCount } from '../usage-figures.ts';

/** A reply that gives none of these says nothing of what it used. */
const countNames: readonly string[] = [
  'prompt_tokens',
  'completion_tokens',
  'input_tokens',
  'output_tokens',
  'total_tokens',
];

/** The members of a `usage` object that are read. */
const figureNames: readonly string[] = [
  ...countNames,
  'prompt_tokens_details',
  'input_tokens_details',
  'completion_tokens_details',
  'output_tokens_details',
  'server_tool_use',
  'num_search_queries',
  'num_sources_used',
];

const inputNames: readonly string[] = ['prompt_tokens', 'input_tokens'];
const outputNames: readonly string[] = ['completion_tokens', 'output_tokens'];

/**
 * One more `usage` object with the completion that it implies: a total without a completion, where
 * the prompt is known.
 */
function openaiStated(
  known: JsonObject | undefined,
  stated: JsonValue | undefined,
): JsonValue | undefined {
  if (!isJsonObject(stated) || hasCount(stated, outputNames)) return stated;
  const holder = hasCount(stated, inputNames) ? stated : known;
  const output = totalOf(stated) - largest(holder, inputNames);
  if (output < 0 || totalOf(stated) === 0 || !hasCount(holder, inputNames)) return stated;
  return { ...stated, completion_tokens: output };
}

/** What one `usage` object leaves open. */
function openaiGap(stated: JsonValue | undefined): UsageGap {
  if (hasCount(stated, outputNames)) return undefined;
  return hasCount(stated, inputNames) || totalOf(stated) === 0 ? 'output' : 'split';
}

/**
 * What a `usage` object says, or undefined where no figure of it is a count.
 * `reasoningOutside`: the vendor does not count reasoning among the completion's tokens.
 */
export function openaiReplyUsage(
  usage: JsonValue | undefined,
  reasoningOutside: boolean,
): ReplyUsage | undefined {
  if (!hasCount(usage, countNames)) return undefined;
  const ofInput = detailsIn(usage, 'prompt_tokens_details', 'input_tokens_details');
  const ofOutput = detailsIn(usage, 'completion_tokens_details', 'output_tokens_details');
  const cached = countIn(ofInput, 'cached_tokens');
  const stated = countIn(ofOutput, 'reasoning_tokens');
  const input = Math.max(inputOf(usage, stated), cached ?? 0);
  const { output, reasoning } = outputOf(usage, stated, reasoningOutside);
  return {
    // Some vendors count cached tokens apart from the prompt's.
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    cacheWriteTokens: partOf(input, ofInput, 'cache_write_tokens'),
    reasoningTokens: atMost(output, reasoning),
    audioInputTokens: partOf(input, ofInput, 'audio_tokens'),
    audioOutputTokens: partOf(output, ofOutput, 'audio_tokens'),
    gap: openaiGap(usage),
    imageInputTokens: partOf(input, ofInput, 'image_tokens'),
    imageOutputTokens: partOf(output, ofOutput, 'image_tokens'),
    videoInputTokens: partOf(input, ofInput, 'video_tokens'),
    toolCalls: toolCallsIn(usage),
  };
}

/** One of the details, of which many replies have none. */
function partOf(whole: number, details: JsonValue | undefined, name: string): number | undefined {
  return details === undefined ? undefined : atMost(whole, countIn(details, name));
}

/** The image API has other names for them than chat. */
function detailsIn(
  usage: JsonValue | undefined,
  name: string,
  ofImages: string,
): JsonValue | undefined {
  const details = member(usage, name);
  return isJsonObject(details) ? details : member(usage, ofImages);
}

/** OpenRouter, Perplexity and xAI state searches, each in its own words; OpenAI states none. */
function toolCallsIn(usage: JsonValue | undefined): ToolCalls | undefined {
  const searches =
    countIn(member(usage, 'server_tool_use'), 'web_search_requests') ??
    countIn(usage, 'num_search_queries') ??
    countIn(usage, 'num_sources_used');
  return searches === undefined ? undefined : { web_search: searches };
}

/** Some vendors give both the names of chat and those of the other APIs. */
function inputOf(usage: JsonValue | undefined, reasoning = 0): number {
  if (hasCount(usage, inputNames)) return largest(usage, inputNames);
  const output = hasCount(usage, outputNames) ? completionOf(usage) : reasoning;
  return Math.max(0, totalOf(usage) - output);
}

/** A sum that nobody can have used says nothing of its parts. */
function totalOf(usage: JsonValue | undefined): number {
  const total = figure(usage, 'total_tokens');
  return total < maxCount ? total : 0;
}

/**
 * `completion_tokens` holds the reasoning at OpenAI. xAI counts it beside, and Google's compatible
 * endpoint tells of it in the total alone. Of any other vendor a total that is more than the sum is
 * a mistake, and adds nothing to a completion that is stated.
 */
function outputOf(
  usage: JsonValue | undefined,
  reasoning: number | undefined,
  reasoningOutside: boolean,
): { readonly output: number; readonly reasoning: number | undefined } {
  const completion = completionOf(usage);
  const beyond = totalOf(usage) - inputOf(usage, reasoning) - completion;
  if (!hasCount(usage, outputNames)) return { output: Math.max(beyond, reasoning ?? 0), reasoning };
  if (beyond <= 0) return { output: completion, reasoning };
  if (!reasoningOutside) return { output: completion, reasoning };
  if (reasoning === beyond) return { output: completion + reasoning, reasoning };
  if (reasoning === undefined || reasoning === 0) {
    return { output: completion + beyond, reasoning: beyond };
  }
  return { output: completion, reasoning };
}

function completionOf(usage: JsonValue | undefined): number {
  return largest(usage, outputNames);
}

/** Some vendors give the names of both APIs. */
function largest(usage: JsonValue | undefined, names: readonly string[]): number {
  return Math.max(...names.map((name) => figure(usage, name)));
}

/** A vendor had eleven reasoning tokens in ten. */
function atMost(whole: number, part: number | undefined): number | undefined {
  return part === undefined ? undefined : Math.min(whole, part);
}

/** How the usage objects of a stream are read. */
export function openaiUsageReader(reasoningOutside: boolean): UsageReader {
  return {
    names: figureNames,
    stated: openaiStated,
    gap: openaiGap,
    read: (usage) => openaiReplyUsage(usage, reasoningOutside),
  };
}
