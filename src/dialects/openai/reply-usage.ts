/** The figures of an OpenAI-shaped reply, whichever way its vendor counts reasoning. */
import type { ReplyUsage } from '../../canonical/reply.ts';
import { type JsonValue, member } from '../../json.ts';
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
export const openaiFigureNames: readonly string[] = [
  ...countNames,
  'prompt_tokens_details',
  'completion_tokens_details',
];

/**
 * What a `usage` object says, or undefined where no figure of it is a count.
 * `reasoningOutside`: the vendor does not count reasoning among the completion's tokens.
 */
export function openaiReplyUsage(
  usage: JsonValue | undefined,
  reasoningOutside: boolean,
): ReplyUsage | undefined {
  if (!hasCount(usage, countNames)) return undefined;
  const ofInput = member(usage, 'prompt_tokens_details');
  const ofOutput = member(usage, 'completion_tokens_details');
  const cached = countIn(ofInput, 'cached_tokens');
  const input = Math.max(inputOf(usage), cached ?? 0);
  const stated = countIn(ofOutput, 'reasoning_tokens');
  const { output, reasoning } = outputOf(usage, stated, reasoningOutside);
  return {
    // Some vendors count cached tokens apart from the prompt's.
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    cacheWriteTokens: atMost(input, countIn(ofInput, 'cache_write_tokens')),
    reasoningTokens: atMost(output, reasoning),
    audioInputTokens: atMost(input, countIn(ofInput, 'audio_tokens')),
    audioOutputTokens: atMost(output, countIn(ofOutput, 'audio_tokens')),
  };
}

/** Some vendors give both the names of chat and those of the other APIs. */
function inputOf(usage: JsonValue | undefined): number {
  const input = Math.max(figure(usage, 'prompt_tokens'), figure(usage, 'input_tokens'));
  if (hasCount(usage, ['prompt_tokens', 'input_tokens'])) return input;
  return Math.max(0, totalOf(usage) - completionOf(usage));
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
  const beyond = totalOf(usage) - inputOf(usage) - completion;
  if (beyond <= 0) return { output: completion, reasoning };
  if (!hasCount(usage, ['completion_tokens', 'output_tokens']))
    return { output: beyond, reasoning };
  if (!reasoningOutside) return { output: completion, reasoning };
  if (reasoning === beyond) return { output: completion + reasoning, reasoning };
  if (reasoning === undefined || reasoning === 0) {
    return { output: completion + beyond, reasoning: beyond };
  }
  return { output: completion, reasoning };
}

function completionOf(usage: JsonValue | undefined): number {
  return Math.max(figure(usage, 'completion_tokens'), figure(usage, 'output_tokens'));
}

/** A vendor had eleven reasoning tokens in ten. */
function atMost(whole: number, part: number | undefined): number | undefined {
  return part === undefined ? undefined : Math.min(whole, part);
}
