/** Reads the content of a Messages response like a caller does, whole and streamed. */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../../src/json.ts';
import { objects, pick, textAt } from './json.ts';
import type { Read } from './received.ts';

/** The finish reasons in the terms of chat completions. */
const finishes: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  refusal: 'content_filter',
};

/** Reads a message, or the events of one. */
export function readMessages(documents: readonly JsonValue[]): Read {
  const message = assembled(documents.filter(isJsonObject));
  const blocks = objects(message.content);
  const textOf = (type: string, name: string): string =>
    blocks
      .filter((block) => block.type === type)
      .map((block) => textAt(block, name))
      .join('');
  const reason = textAt(message, 'stop_reason');
  const figure = (...path: readonly string[]) => pick(message, 'usage', ...path);
  const cached = figure('cache_read_input_tokens');
  return {
    text: textOf('text', 'text'),
    thoughts: textOf('thinking', 'thinking'),
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map((block) => ({
        id: textAt(block, 'id'),
        name: textAt(block, 'name'),
        args: block.input,
      })),
    images: [],
    finish: finishes[reason] ?? reason,
    refusal: textAt(message, 'stop_details', 'explanation'),
    blocked: '',
    tokens: [],
    sources: blocks.flatMap((block) => objects(block.citations)).length,
    usage: [
      Number(figure('input_tokens') ?? 0) + Number(cached ?? 0),
      cached,
      figure('output_tokens'),
      figure('output_tokens_details', 'thinking_tokens'),
    ],
    message: { role: 'assistant', content: blocks },
  };
}

/** Assembles a message from its events like Anthropic's SDKs do. */
function assembled(documents: readonly JsonObject[]): JsonObject {
  const [first] = documents;
  if (first?.type !== 'message_start') return first ?? {};
  const blocks: JsonObject[] = [];
  let message = objects([member(first, 'message') ?? null])[0] ?? {};
  let json = '';
  for (const event of documents) {
    const last = blocks.at(-1) ?? {};
    if (event.type === 'content_block_start') {
      blocks.push(...objects([event.content_block ?? null]));
      json = '';
    }
    if (event.type === 'content_block_delta') {
      json += textAt(event, 'delta', 'partial_json');
      blocks[blocks.length - 1] = extended(last, objects([event.delta ?? null])[0] ?? {});
    }
    if (event.type === 'content_block_stop' && json !== '') {
      blocks[blocks.length - 1] = { ...last, input: parseJson(json) ?? null };
    }
    if (event.type === 'message_delta') message = ended(message, event);
  }
  return { ...message, content: blocks };
}

function extended(block: JsonObject, delta: JsonObject): JsonObject {
  const joined = (name: string): JsonObject =>
    name in delta ? { [name]: textAt(block, name) + textAt(delta, name) } : {};
  const { citation } = delta;
  return {
    ...block,
    ...joined('text'),
    ...joined('thinking'),
    ...joined('signature'),
    ...(citation === undefined ? {} : { citations: [...objects(block.citations), citation] }),
  };
}

function ended(message: JsonObject, event: JsonObject): JsonObject {
  const [delta] = objects([event.delta ?? null]);
  const [before, after] = [message.usage, event.usage].map((usage) => objects([usage ?? null])[0]);
  return { ...message, ...delta, usage: { ...before, ...after } };
}
