/** Runs one translated call end to end. */
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/catalog.ts';
import type { TestSetup } from '../../support/call-gateway.ts';
import { type Called, called } from '../matrix/call.ts';
import type { Protocol } from '../matrix/columns.ts';
import { type Heard, heard } from '../matrix/heard.ts';
import { plainReplies, played } from '../matrix/upstream-replies.ts';

/** Whom a call goes from and to. */
export type Way = `${Protocol} over ${DialectName}`;

/** What differs from the plain case. */
export interface SentSetup extends Pick<TestSetup, 'channel' | 'model'> {
  readonly streamed?: boolean;
}

/** What an upstream is sent for a request, beside a reply that does not matter. */
export async function sent(
  way: Way,
  body: JsonObject,
  { streamed = false, ...setup }: SentSetup = {},
): Promise<Called> {
  const column = columnOf(way);
  const reply = played(column.dialect, plainReplies[column.dialect], streamed);
  return await called(column, streamed, body, reply, setup);
}

/** The body that goes up. */
export async function upstreamBody(
  way: Way,
  body: JsonObject,
  setup: SentSetup = {},
): Promise<JsonValue | undefined> {
  const { upstream } = await sent(way, body, setup);
  return upstream;
}

/** What a caller hears of a reply, whole and streamed. */
export async function bothHeard(
  way: Way,
  reply: JsonObject,
  body: JsonObject = {},
): Promise<readonly [whole: Heard, streamed: Heard]> {
  const column = columnOf(way);
  const hear = async (streamed: boolean): Promise<Heard> => {
    const sentReply = played(column.dialect, reply, streamed);
    const { answer } = await called(column, streamed, body, sentReply);
    return heard(column.protocol, streamed, answer);
  };
  return [await hear(false), await hear(true)];
}

/** What a caller hears of a stream of these frames. */
export async function heardStream(way: Way, frames: readonly string[]): Promise<Heard> {
  const column = columnOf(way);
  const headers = { 'content-type': 'text/event-stream' };
  const { answer } = await called(column, true, {}, { headers, chunks: frames });
  return heard(column.protocol, true, answer);
}

/** The two ends of a way. */
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
