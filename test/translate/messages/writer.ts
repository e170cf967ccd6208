/** Writes events as a Messages reply, whole and streamed, and reads what was written. */
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type {
  ReplyContext,
  ThinkingDisplay,
} from '../../../src/dialects/anthropic/server/exchange.ts';
import { writeReply } from '../../../src/dialects/anthropic/server/write-reply.ts';
import { writeStream } from '../../../src/dialects/anthropic/server/write-stream.ts';
import type { ReplyHead, WrittenReply } from '../../../src/dialects/codec.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { parsed } from '../../support/codec.ts';
import {
  foldedMessage,
  type MessagesEvent,
  messagesEvents,
} from '../../support/laws/messages-laws.ts';
import { countedHead } from '../responses/writer.ts';

/** The ways in which thinking is shown. */
export const displays: readonly ThinkingDisplay[] = ['shown', 'omitted', 'off'];

/** A request for thinking that is shown. */
export const shown: ReplyContext = showing('shown');

/** Shows thinking so; the inputs of these tools stream as they come. */
export function showing(thinking: ThinkingDisplay, ...eagerTools: readonly string[]): ReplyContext {
  return { thinking, eagerTools: new Set(eagerTools) };
}

/** The estimate of every prompt. */
export const estimatedInput = 77;

/** The metadata of a reply. */
export function messageHead(members: Partial<ReplyHead> = {}): ReplyHead {
  return countedHead({ estimatedInputTokens: () => estimatedInput, ...members });
}

/** A stream as a caller gets it. */
export interface WrittenStream {
  readonly text: string;
  readonly events: readonly MessagesEvent[];
  /** The message that clients assemble. */
  readonly message: JsonObject;
}

/** The stream for the events; each row is the events of one upstream frame. */
export function streamOf(
  rows: readonly (readonly ContentEvent[])[],
  context: ReplyContext = shown,
  head: Partial<ReplyHead> = {},
): WrittenStream {
  const writer = writeStream(messageHead(head), context);
  const text = `${rows.map((row) => writer.write(row)).join('')}${writer.end()}`;
  const events = messagesEvents(text);
  return { text, events, message: foldedMessage(events) };
}

/** The whole reply for the events, as it is written. */
export function replyOf(
  events: readonly ContentEvent[],
  context: ReplyContext = shown,
  head: Partial<ReplyHead> = {},
): WrittenReply {
  return writeReply(events, messageHead(head), context);
}

/** The whole message for the events. */
export function wholeOf(
  events: readonly ContentEvent[],
  context: ReplyContext = shown,
  head: Partial<ReplyHead> = {},
): JsonValue {
  return parsed(replyOf(events, context, head).text);
}

/** The blocks of a message. */
export function blocksOf(message: JsonValue): readonly JsonValue[] {
  return items(member(message, 'content'));
}
