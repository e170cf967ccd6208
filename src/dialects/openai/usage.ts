/** The figures of OpenAI-shaped replies: chat's and the image API's. */
import { chargeableUsage, usageOfWholeReply } from '../../canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import type { Channel } from '../../ports/catalog.ts';
import { withCachedInInput } from '../usage-counts.ts';
import { openaiReplyUsage } from './reply-usage.ts';

/**
 * The `usage` object of a whole reply or of one event, an error's too. Groq has had its own place
 * for it, Moonshot gives it inside the last choice.
 */
export function openaiUsageObject(document: JsonValue): JsonValue | undefined {
  return [
    member(document, 'usage'),
    member(member(document, 'x_groq'), 'usage'),
    member(items(member(document, 'choices')).at(-1), 'usage'),
    member(member(document, 'error'), 'usage'),
  ].find(isJsonObject);
}

/** No row of the model table says it of a model: it is how a vendor counts. */
export function reasoningOutside({ capabilities }: Pick<Channel, 'capabilities'>): boolean {
  return capabilities?.reasoningOutsideCompletion === true;
}

/**
 * The figures of a whole reply, or undefined where it has none; `counted` is its content in tokens,
 * asked for only where the figures leave it open.
 */
export function openaiUsage(
  reply: JsonValue,
  reasoningOutside: boolean,
  counted: () => number,
): Usage | undefined {
  const images = items(member(reply, 'data')).length;
  const usage = openaiUsageObject(reply);
  const figures = openaiReplyUsage(usage, reasoningOutside);
  if (figures === undefined) return openaiUsageOfObject(usage, images, reasoningOutside);
  return withImages(usageOfWholeReply(figures, counted), images);
}

/**
 * A `usage` object by itself. Without figures, images alone are still all that a price by image
 * needs.
 */
export function openaiUsageOfObject(
  usage: JsonValue | undefined,
  images: number,
  reasoningOutside: boolean,
): Usage | undefined {
  const figures = openaiReplyUsage(usage, reasoningOutside);
  if (figures !== undefined) return withImages(chargeableUsage(figures), images);
  const none = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
  return images === 0 ? undefined : { ...none, images };
}

/** The image API's earlier models do not say what their output is: images, and nothing else. */
function withImages(figures: Usage, images: number): Usage {
  const usage = withCachedInInput({ ...figures, images });
  if (images === 0 || usage.imageOutputTokens !== undefined) return usage;
  return { ...usage, imageOutputTokens: usage.outputTokens };
}
