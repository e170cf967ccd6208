/**
 * Writes a Responses stream from its events. The order of its events is that of OpenAI, which
 * clients depend on: an item is announced before anything of it, and is whole before the next.
 */
import type { ContentEvent } from '../../../../canonical/reply.ts';
import type { GatewayError } from '../../../../errors.ts';
import type { ContentStreamWriter, ReplyHead } from '../../../codec.ts';
import { failureEvents } from '../errors.ts';
import { StreamLog } from './event-log.ts';
import type { ReplyContext } from './exchange.ts';
import { type OpenReply, startReply } from './open-reply.ts';

interface StreamState {
  readonly log: StreamLog;
  readonly reply: OpenReply;
  hasBegun: boolean;
  hasEnded: boolean;
}

export function writeStream(head: ReplyHead, context: ReplyContext): ContentStreamWriter {
  const log = new StreamLog();
  const reply = startReply(head, context, log);
  const stream: StreamState = { log, reply, hasBegun: false, hasEnded: false };
  return {
    write: (events) => {
      for (const event of inDeltaOrder(events, context)) {
        // What comes before does not show that the upstream replies.
        if ('choice' in event || event.type === 'blocked') begin(stream);
        reply.add(event);
      }
      return log.take();
    },
    end: () => {
      stream.hasEnded = true;
      begin(stream);
      const { status, response } = reply.end();
      log.add(`response.${status}`, `"response":${response}`);
      return log.take();
    },
    breakOff: (error) => breakOff(stream, error),
    output: reply.output,
  };
}

function begin(stream: StreamState): void {
  if (stream.hasBegun) return;
  stream.hasBegun = true;
  const running = `"response":${stream.reply.running()}`;
  stream.log.add('response.created', running);
  stream.log.add('response.in_progress', running);
}

function breakOff(stream: StreamState, error: GatewayError): readonly string[] {
  if (stream.hasEnded) return [];
  stream.hasEnded = true;
  begin(stream);
  const { log, reply } = stream;
  const beginning = log.take();
  const sequenceNumber = log.nextNumber();
  const [first, last] = failureEvents(error, { sequenceNumber, response: reply.broken() });
  return [`${beginning}${first}`, last];
}

/** Logprobs go out with the delta of their text, where clients look for them. */
function inDeltaOrder(
  events: readonly ContentEvent[],
  { wantsLogprobs }: ReplyContext,
): readonly ContentEvent[] {
  if (!wantsLogprobs) return events;
  const ordered: ContentEvent[] = [];
  for (const event of events) {
    const before = ordered.at(-1);
    if (event.type === 'logprobs' && before?.type === 'text' && before.text !== '') {
      ordered.splice(-1, 0, event);
    } else ordered.push(event);
  }
  return ordered;
}
