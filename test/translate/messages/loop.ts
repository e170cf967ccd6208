/** The conversations of Messages clients: how they send earlier replies back. */
import { anthropicServer } from '../../../src/dialects/anthropic/server/codec.ts';
import { isJsonObject, items, type JsonObject, member } from '../../../src/json.ts';
import { parsed } from '../../support/codec.ts';
import { foldedMessage, messagesEvents } from '../../support/laws/messages-laws.ts';
import {
  type CallerApi,
  type Habit,
  type Played,
  type Playing,
  playAs,
  type Reply,
  type Upstream,
} from '../loop.ts';

/** A message of the assistant, as a client sends it back. */
type Content = JsonObject & { readonly role: 'assistant' };

const messageOf = (content: readonly JsonObject[]): Content => ({ role: 'assistant', content });

/** As the clients of the matrix send content back: unchanged, and in its places. */
export const habits: Readonly<Record<string, Habit>> = {
  'whole messages (SDK)': (blocks) => [messageOf(blocks)],
  'with markers of the cache (agents)': (blocks) => [
    messageOf([
      ...blocks.slice(0, -1),
      ...blocks.slice(-1).map((last) => ({ ...last, cache_control: { type: 'ephemeral' } })),
    ]),
  ],
  'with the places of the stream (LangChain)': (blocks) => [
    messageOf(blocks.map((block, index) => ({ ...block, index }))),
  ],
  'a message for each block': (blocks) => blocks.map((block) => messageOf([block])),
  'without empty texts (AI SDK)': (blocks) => [
    messageOf(blocks.filter(({ type, text }) => type !== 'text' || text !== '')),
  ],
};

const messagesApi: CallerApi = {
  codec: anthropicServer,
  question: { role: 'user', content: 'Go.' },
  body: (names, messages) => ({
    model: 'm',
    max_tokens: 99,
    tools: names.map((name) => ({ name, input_schema: { type: 'object', properties: {} } })),
    messages,
  }),
  output: (text, streamed) => {
    const message = streamed ? foldedMessage(messagesEvents(text)) : parsed(text);
    return items(member(message, 'content')).filter(isJsonObject);
  },
  next: (output, sentBack) => [
    ...sentBack.filter(({ content }) => items(content).length > 0),
    followUp(output),
  ],
};

/** Plays the replies one after the other, and one request more. */
export function play(upstream: Upstream, replies: readonly Reply[], playing: Playing): Played {
  return playAs(messagesApi, upstream, replies, playing);
}

/** The results of the calls, or else the next question. */
function followUp(output: readonly JsonObject[]): JsonObject {
  const calls = output.filter(({ type }) => type === 'tool_use');
  if (calls.length === 0) return { role: 'user', content: 'Go on.' };
  const results = calls.map(({ id = '' }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: 'done',
  }));
  return { role: 'user', content: results };
}
