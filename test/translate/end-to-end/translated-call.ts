/** Runs one translated call end to end. */
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { AnyModelSetup } from '../../support/any-model-gateway.ts';
import { type Called, called } from '../matrix/call.ts';
import type { Protocol } from '../matrix/columns.ts';
import { type ReceivedReply, received } from '../matrix/received.ts';
import { plainReplies, scripted } from '../matrix/upstream-replies.ts';

/** The caller's protocol and the upstream's dialect. */
export type Way = `${Protocol} over ${DialectName}`;

/** Settings that differ from the defaults. */
export interface SentSetup extends Pick<AnyModelSetup, 'channel' | 'model'> {
  readonly streamed?: boolean;
}

/** Sends a request and captures what the upstream receives. The reply is arbitrary. */
export async function sent(
  way: Way,
  body: JsonObject,
  { streamed = false, ...setup }: SentSetup = {},
): Promise<Called> {
  const column = columnOf(way);
  const reply = scripted(column.dialect, plainReplies[column.dialect], streamed);
  return await called(column, streamed, body, reply, setup);
}

/** The body that the upstream receives. */
export async function upstreamBody(
  way: Way,
  body: JsonObject,
  setup: SentSetup = {},
): Promise<JsonValue | undefined> {
  const { upstream } = await sent(way, body, setup);
  return upstream;
}

/** The content that a caller gets from a reply, whole and streamed. */
export async function bothReceived(
  way: Way,
  reply: JsonObject,
  body: JsonObject = {},
): Promise<readonly [whole: ReceivedReply, streamed: ReceivedReply]> {
  const column = columnOf(way);
  const receive = async (streamed: boolean): Promise<ReceivedReply> => {
    const sentReply = scripted(column.dialect, reply, streamed);
    const { answer } = await called(column, streamed, body, sentReply);
    return received(column.protocol, streamed, answer);
  };
  return [await receive(false), await receive(true)];
}

/** The content that a caller gets from a stream of these frames. */
export async function receivedStream(way: Way, frames: readonly string[]): Promise<ReceivedReply> {
  const column = columnOf(way);
  const headers = { 'content-type': 'text/event-stream' };
  const { answer: reply } = await called(column, true, {}, { headers, chunks: frames });
  return received(column.protocol, true, reply);
}

/** Splits a way into protocol and dialect. */
export function columnOf(way: Way): {
  readonly title: Way;
  readonly protocol: Protocol;
  readonly dialect: DialectName;
} {
  const protocol = way.startsWith('chat') ? 'chat' : 'native';
  const dialect = way.endsWith('openai')
    ? 'openai'
    : way.endsWith('gemini')
      ? 'gemini'
      : 'anthropic';
  return { title: way, protocol, dialect };
}
