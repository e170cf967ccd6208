/**
 * A response as one object, and as the events of a stream in the order in which OpenAI sends them.
 */
import type { JsonObject, JsonValue } from '../../json.ts';
import { member } from '../../json.ts';
import type { Script } from './scripts.ts';

export type OutputItem =
  | { readonly kind: 'text' | 'refusal'; readonly id: string; readonly pieces: readonly string[] }
  | {
      readonly kind: 'reasoning';
      readonly id: string;
      readonly summary: readonly string[];
      readonly sealed: string | undefined;
    }
  | {
      readonly kind: 'function' | 'custom';
      readonly id: string;
      readonly callId: string;
      readonly name: string;
      readonly pieces: readonly string[];
    };

export interface Content {
  readonly items: readonly OutputItem[];
  readonly tokens: readonly [input: number, output: number];
}

export interface ResponseHead {
  readonly id: string;
  readonly createdAtSeconds: number;
  readonly model: string;
  readonly store: boolean;
  /** Its members are repeated in the response. */
  readonly request: JsonObject;
}

export function whole({ items, tokens }: Content, head: ResponseHead): JsonObject {
  return responseOf(head, {
    status: 'completed',
    output: items.map(finished),
    usage: usageOf(tokens),
  });
}

export function usageOf([input, output]: Content['tokens']): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

export function streamed(content: Content, head: ResponseHead): Script {
  const started = responseOf(head, { status: 'in_progress', output: [], usage: null });
  return eventStream([
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    ...content.items.flatMap(itemEvents),
    { type: 'response.completed', response: whole(content, head) },
  ]);
}

export function failedStream(head: ResponseHead): string {
  const message = 'The server had an error while processing your request. Sorry about that!';
  const code = 'server_error';
  const failed = { status: 'failed', output: [], usage: null, error: { code, message } };
  return [
    { type: 'error', error: { type: code, code, message, param: null } },
    { type: 'response.failed', response: responseOf(head, failed) },
  ]
    .map((event, index) => frame(event, 1000 + index))
    .join('');
}

function eventStream(events: readonly JsonObject[]): Script {
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    chunks: events.map(frame),
  };
}

function frame(event: JsonObject, sequence: number): string {
  const data = JSON.stringify({ ...event, sequence_number: sequence });
  return `event: ${String(member(event, 'type'))}\ndata: ${data}\n\n`;
}

function responseOf(head: ResponseHead, state: JsonObject): JsonObject {
  const repeated = (name: string, otherwise: JsonValue): JsonValue =>
    member(head.request, name) ?? otherwise;
  return {
    id: head.id,
    object: 'response',
    created_at: head.createdAtSeconds,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: repeated('instructions', null),
    max_output_tokens: repeated('max_output_tokens', null),
    max_tool_calls: null,
    model: head.model,
    parallel_tool_calls: repeated('parallel_tool_calls', true),
    previous_response_id: repeated('previous_response_id', null),
    prompt_cache_key: repeated('prompt_cache_key', null),
    reasoning: repeated('reasoning', { effort: null, summary: null }),
    safety_identifier: repeated('safety_identifier', null),
    service_tier: 'default',
    store: head.store,
    temperature: repeated('temperature', 1),
    text: repeated('text', { format: { type: 'text' }, verbosity: 'medium' }),
    tool_choice: repeated('tool_choice', 'auto'),
    tools: repeated('tools', []),
    top_logprobs: repeated('top_logprobs', 0),
    top_p: repeated('top_p', 1),
    truncation: repeated('truncation', 'disabled'),
    user: repeated('user', null),
    metadata: repeated('metadata', {}),
    ...state,
  };
}

const calls = {
  function: { type: 'function_call', input: 'arguments' },
  custom: { type: 'custom_tool_call', input: 'input' },
} as const;

function begun(item: OutputItem): JsonObject {
  const whole = finished(item);
  if (item.kind === 'reasoning') return { ...whole, summary: [] };
  const isCall = item.kind === 'function' || item.kind === 'custom';
  const empty = isCall ? { [calls[item.kind].input]: '' } : { content: [] };
  return { ...whole, ...empty, status: 'in_progress' };
}

function finished(item: OutputItem): JsonObject {
  const { id } = item;
  if (item.kind === 'reasoning') {
    const text = item.summary.join('');
    return {
      id,
      type: 'reasoning',
      ...(item.sealed === undefined ? {} : { encrypted_content: item.sealed }),
      summary: text === '' ? [] : [{ type: 'summary_text', text }],
    };
  }
  const text = item.pieces.join('');
  if (item.kind === 'function' || item.kind === 'custom') {
    const { type, input } = calls[item.kind];
    return { id, status: 'completed', call_id: item.callId, name: item.name, type, [input]: text };
  }
  const content = [partOf(item.kind, text)];
  return { id, type: 'message', status: 'completed', content, role: 'assistant' };
}

function partOf(kind: 'text' | 'refusal', text: string): JsonObject {
  return kind === 'refusal'
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', annotations: [], logprobs: [], text };
}

/** The events of one item. Each delta has the padding with which OpenAI hides its length. */
function itemEvents(item: OutputItem, output_index: number): readonly JsonObject[] {
  return [
    { type: 'response.output_item.added', output_index, item: begun(item) },
    ...contentEvents(item, { item_id: item.id, output_index }),
    { type: 'response.output_item.done', output_index, item: finished(item) },
  ];
}

interface Place extends JsonObject {
  readonly item_id: string;
  readonly output_index: number;
}

function contentEvents(item: OutputItem, place: Place): readonly JsonObject[] {
  switch (item.kind) {
    case 'reasoning':
      return summaryEvents(item.summary, place);
    case 'function':
    case 'custom': {
      const { type, input } = calls[item.kind];
      const name = `${type}_${input}`;
      return [
        ...deltasOf(name, item.pieces, place),
        eventOf(`${name}.done`, place, { [input]: item.pieces.join('') }),
      ];
    }
    default:
      return partEvents(item.kind, item.pieces, { ...place, content_index: 0 });
  }
}

function summaryEvents(pieces: readonly string[], item: Place): readonly JsonObject[] {
  const text = pieces.join('');
  const place = { ...item, summary_index: 0 };
  const part = (written: string): JsonObject => ({ type: 'summary_text', text: written });
  if (text === '') return [];
  return [
    eventOf('reasoning_summary_part.added', place, { part: part('') }),
    ...deltasOf('reasoning_summary_text', pieces, place),
    eventOf('reasoning_summary_text.done', place, { text }),
    eventOf('reasoning_summary_part.done', place, { part: part(text) }),
  ];
}

function partEvents(
  kind: 'text' | 'refusal',
  pieces: readonly string[],
  place: Place & { readonly content_index: number },
): readonly JsonObject[] {
  const text = pieces.join('');
  const name = kind === 'text' ? 'output_text' : 'refusal';
  const more: JsonObject = kind === 'text' ? { logprobs: [] } : {};
  return [
    eventOf('content_part.added', place, { part: partOf(kind, '') }),
    ...deltasOf(name, pieces, { ...place, ...more }),
    eventOf(`${name}.done`, place, { ...more, [kind]: text }),
    eventOf('content_part.done', place, { part: partOf(kind, text) }),
  ];
}

function deltasOf(name: string, pieces: readonly string[], place: Place): readonly JsonObject[] {
  return pieces.map((delta) =>
    eventOf(`${name}.delta`, place, { delta, obfuscation: 'x'.repeat(16 - (delta.length % 16)) }),
  );
}

function eventOf(name: string, place: Place, members: JsonObject): JsonObject {
  return { type: `response.${name}`, ...place, ...members };
}
