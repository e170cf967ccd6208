/** Reads the usage of OpenAI-shaped replies of the chat and image APIs. */
import { chargeableUsage, usageOfWholeReply } from '../../canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import type { Channel } from '../../ports/catalog.ts';
import { openaiReplyUsage } from './reply-usage.ts';

/**
 * Finds the `usage` object of a whole reply, an event or an error. Groq has sent it in `x_groq`,
 * Moonshot sends it inside the last choice.
 */
export function openaiUsageObject(document: JsonValue): JsonValue | undefined {
  const usage = member(document, 'usage');
  if (isJsonObject(usage)) return usage;
  return [
    member(member(document, 'x_groq'), 'usage'),
    member(items(member(document, 'choices')).at(-1), 'usage'),
    member(member(document, 'error'), 'usage'),
  ].find(isJsonObject);
}

/**
 * Set per channel and not in the capability table, because it depends on the vendor and not on the
 * model.
 */
export function reasoningOutside({ capabilities }: Pick<Channel, 'capabilities'>): boolean {
  return capabilities?.reasoningOutsideCompletion === true;
}

/**
 * Reads the usage of a whole reply; undefined if it reports none. `counted` returns the reply's
 * content in tokens, and is called only if the reported usage leaves it open.
 */
export function openaiUsage(
  reply: JsonValue,
  reasoningOutside: boolean,
  counted: () => number,
): Usage | undefined {
  const images = items(member(reply, 'data')).length;
  const usage = openaiUsageObject(reply);
  const reported = openaiReplyUsage(usage, reasoningOutside);
  if (reported === undefined) return openaiUsageOfObject(usage, images, reasoningOutside);
  return withImages(usageOfWholeReply(reported, counted), images);
}

/**
 * Converts a `usage` object. Without one, the number of images is still enough for a price per
 * image.
 */
export function openaiUsageOfObject(
  usage: JsonValue | undefined,
  images: number,
  reasoningOutside: boolean,
): Usage | undefined {
  const reported = openaiReplyUsage(usage, reasoningOutside);
  if (reported !== undefined) return withImages(chargeableUsage(reported), images);
  const none = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
  return images === 0 ? undefined : { ...none, images };
}

/**
 * Earlier models of the image API do not report a breakdown of their output, which consists of
 * images only.
 */
function withImages(usage: Usage, images: number): Usage {
  if (images === 0) return usage;
  return { ...usage, images, imageOutputTokens: usage.imageOutputTokens ?? usage.outputTokens };
}
