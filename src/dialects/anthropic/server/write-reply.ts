/** Writes a whole reply from its events, as a Messages message. */
import { jsonText, oneLine } from '../../../canonical/raw-json.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import type { ReplyHead, WrittenReply } from '../../codec.ts';
import { wholeSink } from './block-sink.ts';
import type { ReplyContext } from './exchange.ts';
import { OpenMessage } from './open-message.ts';

export function writeReply(
  events: readonly ContentEvent[],
  head: ReplyHead,
  context: ReplyContext,
): WrittenReply {
  const sink = wholeSink();
  const message = new OpenMessage(head, context, sink);
  for (const event of events) message.add(event);
  const ended = message.end();
  return {
    text: oneLine(jsonText(message.whole(sink.blocks(), ended))),
    dropped: message.content.dropped(),
    estimated: ended.usage.isEstimated ? 'usage' : undefined,
    isUnusable: message.content.isUnusable(),
  };
}
