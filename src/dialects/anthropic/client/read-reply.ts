/** Reads a whole reply of Anthropic's Messages API. */
import type { ContentEvent, ServiceTier } from '../../../canonical/reply.ts';
import { items, type JsonValue, member, nonEmpty } from '../../../json.ts';
import { anthropicReplyUsage } from '../usage.ts';
import { mayCutLastCall, readFinish } from './finish.ts';
import { BlockReader, type ReadContext } from './read-choice.ts';

export function readReply(reply: JsonValue, context: ReadContext): readonly ContentEvent[] {
  const content = member(reply, 'content');
  const stop = readFinish(reply);
  const usage = usageEvents(member(reply, 'usage'));
  if (!Array.isArray(content) && stop.reason === undefined) {
    return [...usage, { type: 'unusable', reason: 'upstream_empty_response' }];
  }
  const blocks = new BlockReader(context);
  const all = items(content);
  const last = all.length - 1;
  // If a limit or a filter ended the reply, its last call is truncated: after a complete call the
  // model ends the reply itself.
  const isCut = mayCutLastCall(stop);
  const contentEvents = all.flatMap((block, index) => blocks.whole(block, isCut && index === last));
  return [startEvent(reply), ...contentEvents, ...blocks.rest(), blocks.endEvent(stop), ...usage];
}

/** The head of a reply, from a whole one or from the `message` of a `message_start`. */
export function startEvent(message: JsonValue | undefined): ContentEvent {
  const tier = nonEmpty(member(member(message, 'usage'), 'service_tier'));
  const serviceTier = tier === undefined ? undefined : tiers.get(tier);
  return {
    type: 'start',
    id: nonEmpty(member(message, 'id')),
    model: nonEmpty(member(message, 'model')),
    ...(serviceTier === undefined ? {} : { serviceTier }),
  };
}

const tiers: ReadonlyMap<string, ServiceTier> = new Map([
  ['standard', 'default'],
  ['priority', 'priority'],
]);

function usageEvents(usage: JsonValue | undefined): readonly ContentEvent[] {
  const replyUsage = anthropicReplyUsage(usage);
  return replyUsage === undefined ? [] : [{ type: 'usage', usage: replyUsage }];
}
