/**
 * Writes a Messages stream from its events, in Anthropic's order, which clients depend on: the
 * start of the message, one block after the other, its end with the usage, and nothing after it.
 */
import { jsonText, oneLine } from '../../../canonical/raw-json.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import type { ContentStreamWriter, ReplyHead } from '../../codec.ts';
import { errorEvent } from '../stream-events.ts';
import { type StreamSink, streamSink } from './block-sink.ts';
import type { ReplyContext } from './exchange.ts';
import { OpenMessage } from './open-message.ts';

interface StreamState {
  readonly sink: StreamSink;
  readonly message: OpenMessage;
  hasBegun: boolean;
  hasEnded: boolean;
}

export function writeStream(head: ReplyHead, context: ReplyContext): ContentStreamWriter {
  const sink = streamSink();
  const message = new OpenMessage(head, context, sink);
  const stream: StreamState = { sink, message, hasBegun: false, hasEnded: false };
  return {
    write: (events) => {
      for (const event of events) {
        if (startTypes.has(event.type)) begin(stream, events);
        message.add(event);
      }
      return sink.take();
    },
    end: () => {
      stream.hasEnded = true;
      begin(stream, []);
      const { stop, usage } = message.end();
      const members = { delta: stop, usage: usage.members };
      sink.event('message_delta', oneLine(jsonText(members)).slice(1, -1));
      sink.event('message_stop', '');
      return sink.take();
    },
    isUnusable: () => message.content.isUnusable(),
    breakOff: (error) => {
      if (stream.hasEnded) return [];
      stream.hasEnded = true;
      return [errorEvent(error, head.fallbackId)];
    },
  };
}

/** A reply of other events only is a failure, and the caller gets an error response. */
const startTypes: ReadonlySet<ContentEvent['type']> = new Set([
  ...(['text', 'reasoning', 'refusal', 'tool_begin', 'blocked'] as const),
]);

/** Google's first event states the usage of the prompt after its content. */
function begin(stream: StreamState, events: readonly ContentEvent[]): void {
  if (stream.hasBegun) return;
  stream.hasBegun = true;
  const usage = events.findLast((event) => event.type === 'usage')?.usage;
  const message = jsonText(stream.message.start(usage));
  stream.sink.event('message_start', `"message":${oneLine(message)}`);
}
