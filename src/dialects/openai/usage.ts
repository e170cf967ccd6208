/** Reads the usage of OpenAI-shaped replies of the chat, image and embeddings APIs. */
import { chargeableUsage, type ReplyUsage, usageOfWholeReply } from '../../canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import { noUsage, type Usage } from '../../money.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import { openaiUsageReader, usageMerger } from '../usage/stream-usage.ts';
import { countsIn } from '../usage/usage-counts.ts';
import { openaiRows } from '../usage/usage-table.ts';

/** Groq has sent it in `x_groq`, Moonshot sends it inside the last choice. */
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

/** Reads a `usage` object; undefined if none of its counts is valid. */
export function openaiReplyUsage(
  usage: JsonValue | undefined,
  reasoningOutside: boolean,
): ReplyUsage | undefined {
  return usageMerger(openaiUsageReader(reasoningOutside))(usage);
}

/** `counted` returns the content in tokens; it is called only if the usage leaves it open. */
export function openaiUsage(
  reply: JsonValue,
  reasoningOutside: boolean,
  counted: () => number,
): Usage | undefined {
  const images = items(member(reply, 'data')).length;
  const usage = openaiUsageObject(reply);
  const reported = openaiReplyUsage(usage, reasoningOutside);
  if (reported === undefined) return usageOfImages(usage, images);
  return withImages(usageOfWholeReply(reported, counted), images);
}

export function openaiUsageOfObject(
  usage: JsonValue | undefined,
  images: number,
  reasoningOutside: boolean,
): Usage | undefined {
  const reported = openaiReplyUsage(usage, reasoningOutside);
  if (reported === undefined) return usageOfImages(usage, images);
  return withImages(chargeableUsage(reported), images);
}

/** Without any count of tokens, the number of images is still enough for a price per image. */
function usageOfImages(usage: JsonValue | undefined, images: number): Usage | undefined {
  return images === 0 ? undefined : { ...noUsage, images, ...remarksIn(usage) };
}

function remarksIn(usage: JsonValue | undefined): Pick<Usage, 'remarks'> {
  const remarks = countsIn(usage, openaiRows)?.remarks;
  return remarks === undefined ? {} : { remarks };
}

/**
 * Earlier models of the image API do not report a breakdown of their output, which consists of
 * images only.
 */
function withImages(usage: Usage, images: number): Usage {
  if (images === 0) return usage;
  return { ...usage, images, imageOutputTokens: usage.imageOutputTokens ?? usage.outputTokens };
}
