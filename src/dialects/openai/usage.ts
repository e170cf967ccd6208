/** The figures of OpenAI-shaped replies: chat's and the image API's. */
import { items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { figure, usageOf } from '../usage-figures.ts';

/** The figures of a whole reply or of one event, or undefined where it has none. */
export function openaiUsage(reply: JsonValue): Usage | undefined {
  const images = items(member(reply, 'data')).length;
  const usage = member(reply, 'usage') ?? member(member(reply, 'x_groq'), 'usage') ?? undefined;
  if (usage === undefined) return images === 0 ? undefined : imagesOnly(images);
  return openaiFigures(usage, images);
}

/** A `usage` object by itself. */
export function openaiFigures(usage: JsonValue, images: number): Usage | undefined {
  const input = figure(usage, 'prompt_tokens') + figure(usage, 'input_tokens');
  const output = figure(usage, 'completion_tokens') + figure(usage, 'output_tokens');
  return usageOf({
    inputTokens: input,
    cachedInputTokens: figure(member(usage, 'prompt_tokens_details'), 'cached_tokens'),
    // Some vendors leave reasoning out of completion_tokens and only count it in the total.
    outputTokens: Math.max(output, figure(usage, 'total_tokens') - input),
    images,
  });
}

/** Images without figures: all that a price by image needs. */
export function imagesOnly(images: number): Usage {
  return { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, images };
}
