/** Writes a whole reply as Google's `GenerateContentResponse`. */
import type { ContentEvent } from '../../../canonical/reply.ts';
import type { ReplyHead, WrittenReply } from '../../codec.ts';
import { ReplyBuilder } from './reply-builder.ts';

/** With a blocked prompt there are no candidates; otherwise each has a finish reason. */
export function writeReply(events: readonly ContentEvent[], head: ReplyHead): WrittenReply {
  const reply = new ReplyBuilder(head);
  for (const event of events) reply.add(event);
  const candidates = reply.candidatesByIndex().map((one) => one.last());
  const content = reply.prompt() ?? `"candidates":[${candidates.join(',')}]`;
  return { text: `{${content}${reply.usage()}${reply.tail()}`, dropped: reply.dropped() };
}
