/** The figures of OpenAI-shaped replies: chat's and the image API's. */
import { items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { figure, hasAny, usageOf } from '../usage-figures.ts';

/** A reply that gives none of these says nothing of what it used. */
export const openaiFigureNames: readonly string[] = [
  'prompt_tokens',
  'completion_tokens',
  'input_tokens',
  'output_tokens',
  'total_tokens',
];

/** The figures of a whole reply or of one event, or undefined where it has none. */
export function openaiUsage(reply: JsonValue): Usage | undefined {
  const usage = member(reply, 'usage') ?? member(member(reply, 'x_groq'), 'usage');
  return openaiFigures(usage, items(member(reply, 'data')).length);
}

/**
 * A `usage` object by itself. Without figures, images alone are still all that a price by image
 * needs.
 */
export function openaiFigures(usage: JsonValue | undefined, images: number): Usage | undefined {
  if (!hasAny(usage, openaiFigureNames)) {
    const none = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
    return images === 0 ? undefined : { ...none, images };
  }
  // Some vendors give both the names of chat and those of the other APIs.
  const input = Math.max(figure(usage, 'prompt_tokens'), figure(usage, 'input_tokens'));
  const output = Math.max(figure(usage, 'completion_tokens'), figure(usage, 'output_tokens'));
  return usageOf({
    inputTokens: input,
    cachedInputTokens: figure(member(usage, 'prompt_tokens_details'), 'cached_tokens'),
    // Some vendors leave reasoning out of completion_tokens and only count it in the total.
    outputTokens: Math.max(output, figure(usage, 'total_tokens') - input),
    images,
  });
}
