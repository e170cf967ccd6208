/** Writes a whole reply from its events: the response object that its stream would end with. */
import { jsonText, oneLine } from '../../../../canonical/raw-json.ts';
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
  const text = oneLine(jsonText(reply.end().response));
  return { text, dropped: reply.dropped(), output: reply.output() };
}
