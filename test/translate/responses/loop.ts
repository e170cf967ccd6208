/** The conversations of Responses clients: how they send earlier output back. */
import { openaiResponsesServer } from '../../../src/dialects/openai/responses/server/codec.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { parsed } from '../../support/codec.ts';
import { responsesEvents } from '../../support/laws/responses-laws.ts';
import {
  type CallerApi,
  type Habit,
  type Played,
  type Playing,
  playAs,
  type Reply,
  type Upstream,
} from '../loop.ts';

const without = (item: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([name]) => !names.includes(name)));
const isReasoning = (item: JsonObject): boolean => item.type === 'reasoning';
const isCall = ({ type }: JsonObject): boolean =>
  type === 'function_call' || type === 'custom_tool_call';
const textOf = (item: JsonObject): string =>
  items(item.content)
    .map((part) => String(member(part, 'text') ?? member(part, 'refusal')))
    .join('');

/** By the recorded requests of `clients` among the fixtures, and as clients are allowed to. */
export const habits: Readonly<Record<string, Habit>> = {
  'whole items (agents, LangChain)': (output) => output,
  'items without ids': (output) => output.map((item) => without(item, 'id', 'status')),
  'reasoning with null as its content (Codex)': (output) =>
    output.map((item) => (isReasoning(item) ? { ...item, content: null } : item)),
  'summaries cut': (output) =>
    output.map((item) => (isReasoning(item) ? { ...item, summary: [], content: [] } : item)),
  'only sealed reasoning (AI SDK 6, `store: false`)': (output) =>
    output
      .filter((item) => !isReasoning(item) || item.encrypted_content !== undefined)
      .map((item) => {
        if (isCall(item)) return without(item, 'id', 'status');
        if (item.type !== 'message') return item;
        const content = [{ type: 'output_text', text: textOf(item) }];
        return { role: 'assistant', id: item.id ?? null, content };
      }),
  'messages as strings (AI SDK 7, `store: false`)': (output) =>
    output
      .filter((item) => !isReasoning(item) || item.encrypted_content !== undefined)
      .map((item) => {
        if (isCall(item)) return without(item, 'id', 'status');
        return item.type === 'message' ? { role: 'assistant', content: textOf(item) } : item;
      }),
};

const responsesApi: CallerApi = {
  codec: openaiResponsesServer,
  question: { role: 'user', content: 'Go.' },
  body: (names, input) => ({
    model: 'm',
    tools: names.map((name) => ({
      type: 'function',
      name,
      parameters: { type: 'object', properties: {} },
    })),
    input,
  }),
  output: (text, streamed) => {
    if (!streamed) return objectsOf(items(member(parsed(text), 'output')));
    const done = responsesEvents(text).filter(
      ({ data }) => member(data, 'type') === 'response.output_item.done',
    );
    return objectsOf(done.map(({ data }) => member(data, 'item') ?? null));
  },
  next: (output, sentBack) => [...sentBack, ...followUp(output)],
};

/** Plays the replies one after the other, and one request more. */
export function play(upstream: Upstream, replies: readonly Reply[], playing: Playing): Played {
  return playAs(responsesApi, upstream, replies, playing);
}

function objectsOf(values: readonly JsonValue[]): readonly JsonObject[] {
  return values.filter(isJsonObject);
}

/** The results of the calls, or else the next question. */
function followUp(output: readonly JsonObject[]): readonly JsonObject[] {
  const calls = output.filter(isCall);
  if (calls.length === 0) return [{ role: 'user', content: 'Go on.' }];
  return calls.map((call) => ({
    type: `${String(call.type)}_output`,
    call_id: call.call_id ?? null,
    output: 'done',
  }));
}
