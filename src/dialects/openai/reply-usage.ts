/**
 * Reads the usage of an OpenAI-shaped reply, whether or not its vendor counts reasoning as part of
 * the completion.
 */
import type { ReplyUsage, UsageGap } from '../../canonical/reply.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { ToolCalls } from '../../money.ts';
import type { UsageReader } from '../stream-usage.ts';
import { countIn, maxCount } from '../usage-counts.ts';

/** The members of a `usage` object that are read. */
const usageMembers: readonly string[] = [
  'prompt_tokens',
  'completion_tokens',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'prompt_tokens_details',
  'input_tokens_details',
  'completion_tokens_details',
  'output_tokens_details',
  'server_tool_use',
  'num_search_queries',
  'num_sources_used',
];

/** The three counts that most upstreams report; undefined if one is missing. */
interface Totals {
  readonly prompt: number | undefined;
  readonly completion: number | undefined;
  /** 0 if it is missing or impossibly large, because then it says nothing about its parts. */
  readonly total: number;
}

function totalsIn(usage: JsonValue | undefined): Totals {
  const total = countIn(usage, 'total_tokens') ?? 0;
  return {
    prompt: largestOf(usage, 'prompt_tokens', 'input_tokens'),
    completion: largestOf(usage, 'completion_tokens', 'output_tokens'),
    total: total < maxCount ? total : 0,
  };
}

/** Some vendors send the names of both the chat API and the newer APIs. */
function largestOf(
  usage: JsonValue | undefined,
  chatName: string,
  otherName: string,
): number | undefined {
  const one = countIn(usage, chatName);
  const other = countIn(usage, otherName);
  if (one === undefined || other === undefined) return one ?? other;
  return one > other ? one : other;
}

/** Adds the completion that a `usage` object implies: its total minus the known prompt. */
function withImpliedCompletion(
  known: JsonObject | undefined,
  stated: JsonValue | undefined,
): JsonValue | undefined {
  if (!isJsonObject(stated)) return stated;
  const { prompt = totalsIn(known).prompt, completion, total } = totalsIn(stated);
  if (completion !== undefined || prompt === undefined) return stated;
  if (total === 0 || total < prompt) return stated;
  return { ...stated, completion_tokens: total - prompt };
}

/** Returns which count a `usage` object leaves open. */
function gapIn({ prompt, completion, total }: Totals): UsageGap {
  if (completion !== undefined) return undefined;
  return prompt !== undefined || total === 0 ? 'output' : 'split';
}

/**
 * Reads a `usage` object; undefined if none of its counts is valid. `reasoningOutside`: the vendor
 * does not count reasoning as part of the completion.
 */
export function openaiReplyUsage(
  usage: JsonValue | undefined,
  reasoningOutside: boolean,
): ReplyUsage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const totals = totalsIn(usage);
  const { prompt, completion } = totals;
  const isStated = prompt !== undefined || completion !== undefined;
  if (!isStated && countIn(usage, 'total_tokens') === undefined) return undefined;
  const inputDetails = detailsIn(usage, 'prompt_tokens_details', 'input_tokens_details');
  const outputDetails = detailsIn(usage, 'completion_tokens_details', 'output_tokens_details');
  // Few vendors but the largest send details.
  const cached = inputDetails && countIn(inputDetails, 'cached_tokens');
  const stated = outputDetails && countIn(outputDetails, 'reasoning_tokens');
  const promptTokens = inputOf(totals, stated);
  // Some vendors count cached tokens separately from the prompt.
  const input = Math.max(promptTokens, cached ?? 0);
  const { output, reasoning } = outputOf(totals, promptTokens, stated, reasoningOutside);
  const inputParts = inputDetails === undefined ? noParts : partsIn(inputDetails, input);
  const outputParts = outputDetails === undefined ? noParts : partsIn(outputDetails, output);
  const isAbove = inputParts.isAbove || outputParts.isAbove || (cached ?? 0) > (prompt ?? input);
  return {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    cacheWriteTokens: inputParts.cacheWrite,
    reasoningTokens: atMost(output, reasoning),
    audioInputTokens: inputParts.audio,
    audioOutputTokens: outputParts.audio,
    gap: gapIn(totals),
    imageInputTokens: inputParts.image,
    imageOutputTokens: outputParts.image,
    videoInputTokens: inputParts.video,
    toolCalls: toolCallsIn(usage),
    isInconsistent: isAbove ? true : undefined,
  };
}

/** The parts of a count that a details object states. */
interface Parts {
  readonly cacheWrite: number | undefined;
  readonly audio: number | undefined;
  readonly image: number | undefined;
  readonly video: number | undefined;
  /** One of them is larger than the whole. */
  readonly isAbove: boolean;
}

const noParts: Parts = {
  cacheWrite: undefined,
  audio: undefined,
  image: undefined,
  video: undefined,
  isAbove: false,
};

function partsIn(details: JsonObject, whole: number): Parts {
  const cacheWrite = countIn(details, 'cache_write_tokens');
  const audio = countIn(details, 'audio_tokens');
  const image = countIn(details, 'image_tokens');
  const video = countIn(details, 'video_tokens');
  const isAbove = Math.max(cacheWrite ?? 0, audio ?? 0, image ?? 0, video ?? 0) > whole;
  if (!isAbove) return { cacheWrite, audio, image, video, isAbove };
  return {
    cacheWrite: atMost(whole, cacheWrite),
    audio: atMost(whole, audio),
    image: atMost(whole, image),
    video: atMost(whole, video),
    isAbove,
  };
}

/**
 * Limits a part to its whole: a vendor has reported eleven reasoning tokens in an output of ten.
 */
function atMost(whole: number, part: number | undefined): number | undefined {
  return part === undefined ? undefined : Math.min(whole, part);
}

/** The image API uses different names from chat. */
function detailsIn(usage: JsonObject, name: string, imagesName: string): JsonObject | undefined {
  const { [name]: details, [imagesName]: imageDetails } = usage;
  if (details !== undefined && isJsonObject(details)) return details;
  return imageDetails !== undefined && isJsonObject(imageDetails) ? imageDetails : undefined;
}

/**
 * OpenRouter, Perplexity and xAI report searches, each under a different name; OpenAI reports none.
 */
function toolCallsIn(usage: JsonObject): ToolCalls | undefined {
  const { server_tool_use: tools } = usage;
  const searches =
    (tools === undefined ? undefined : countIn(tools, 'web_search_requests')) ??
    countIn(usage, 'num_search_queries') ??
    countIn(usage, 'num_sources_used');
  return searches === undefined ? undefined : { web_search: searches };
}

function inputOf({ prompt, completion, total }: Totals, reasoning = 0): number {
  return prompt ?? Math.max(0, total - (completion ?? reasoning));
}

/**
 * At OpenAI, `completion_tokens` includes reasoning. xAI counts it separately, and Google's
 * compatible endpoint includes it only in the total. For any other vendor a total above the sum is
 * a mistake and adds nothing to a reported completion.
 */
function outputOf(
  { completion, total }: Totals,
  input: number,
  reasoning: number | undefined,
  reasoningOutside: boolean,
): { readonly output: number; readonly reasoning: number | undefined } {
  if (completion === undefined) {
    return { output: Math.max(total - input, reasoning ?? 0), reasoning };
  }
  const excess = total - input - completion;
  if (excess <= 0 || !reasoningOutside) return { output: completion, reasoning };
  if (reasoning === excess) return { output: completion + reasoning, reasoning };
  if (reasoning === undefined || reasoning === 0) {
    return { output: completion + excess, reasoning: excess };
  }
  return { output: completion, reasoning };
}

/** Reads the usage objects of a stream. */
export function openaiUsageReader(reasoningOutside: boolean): UsageReader {
  return {
    names: usageMembers,
    withImplied: withImpliedCompletion,
    gap: (stated) => gapIn(totalsIn(stated)),
    read: (usage) => openaiReplyUsage(usage, reasoningOutside),
  };
}
