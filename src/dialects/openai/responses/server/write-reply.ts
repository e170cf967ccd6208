/** Writes a whole reply from its events: the response object that its stream would end with. */
import type { ContentEvent } from '../../../../canonical/reply.ts';
import type { ReplyHead, WrittenReply } from '../../../codec.ts';
import { noEvents } from './event-log.ts';
import type { ReplyContext } from './exchange.ts';
import { startReply } from './open-reply.ts';

export function writeReply(
  events: readonly ContentEvent[],
  head: ReplyHead,
  context: ReplyContext,
): WrittenReply {
  const reply = startReply(head, context, noEvents);
  for (const event of events) reply.add(event);
  return { text: reply.end().response, dropped: reply.dropped(), output: reply.output() };
}
