/** Replies of every upstream, streamed and whole, with usage at any place. */
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { events } from '../../support/models.ts';

/** A caller's API; `nativeArray` is a native stream without `alt=sse`. */
export type CallerName = 'chat' | 'native' | 'nativeArray' | 'responses' | 'messages';

/** The usage that an upstream states. */
export interface Stated {
  readonly input: number;
  readonly output: number;
}

/** A part of the content of a reply. */
export interface Piece {
  readonly kind: 'text' | 'reasoning' | 'tool';
  readonly text: string;
}

/** The stream of an upstream. Each part may state usage. */
export interface Wire {
  readonly channel: Partial<Channel>;
  /** The caller whose API it is. All others get a translation. */
  readonly relays: CallerName;
  readonly translates: readonly CallerName[];
  readonly begin: (stated?: Stated) => string;
  readonly piece: (piece: Piece, index: number, stated?: Stated) => string;
  readonly finish: (stated?: Stated) => string;
  readonly error: string;
  /** A whole reply, which some servers send to a request for a stream. */
  readonly document?: (pieces: readonly Piece[], stated?: Stated) => object;
  readonly contentType?: string;
}

/** The content type of most streams. */
export const eventStream = 'text/event-stream';

const chunkOf = (delta: object, stated: Stated | undefined, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...(stated && { usage: { prompt_tokens: stated.input, completion_tokens: stated.output } }),
});
const toolArguments = (text: string) => JSON.stringify({ q: text });
const overloaded = { message: 'overloaded', type: 'server_error', code: 503 };

const openai: Wire = {
  channel: { dialect: 'openai', capabilities: { responses: false } },
  relays: 'chat',
  translates: ['native', 'nativeArray', 'responses', 'messages'],
  begin: (stated) => events(chunkOf({ role: 'assistant' }, stated)),
  piece: ({ kind, text }, index, stated) => {
    const call = { name: 'f', arguments: toolArguments(text) };
    const delta = {
      text: { content: text },
      reasoning: { reasoning_content: text },
      tool: { tool_calls: [{ index, id: `call_${index}`, type: 'function', function: call }] },
    };
    return events(chunkOf(delta[kind], stated));
  },
  finish: (stated) => events(chunkOf({}, stated, 'stop'), '[DONE]'),
  error: events({ error: overloaded }),
  document: (pieces, stated) => {
    const textOf = (wanted: Piece['kind']) =>
      pieces.filter(({ kind }) => kind === wanted).map(({ text }) => text);
    const tool_calls = textOf('tool').map((text, index) => {
      const call = { name: 'f', arguments: toolArguments(text) };
      return { id: `call_${index}`, type: 'function', function: call };
    });
    const message = {
      role: 'assistant',
      content: textOf('text').join(''),
      reasoning_content: textOf('reasoning').join(''),
      ...(tool_calls.length > 0 && { tool_calls }),
    };
    return {
      object: 'chat.completion',
      choices: [
        { index: 0, message, finish_reason: tool_calls.length > 0 ? 'tool_calls' : 'stop' },
      ],
      ...(stated && { usage: { prompt_tokens: stated.input, completion_tokens: stated.output } }),
    };
  },
};

const partOf = ({ kind, text }: Piece) =>
  ({
    text: { text },
    reasoning: { text, thought: true },
    tool: { functionCall: { name: 'f', args: { q: text } } },
  })[kind];

const candidateOf = (parts: readonly object[], stated?: Stated, finishReason?: string) => ({
  candidates: [{ content: { role: 'model', parts }, finishReason }],
  ...(stated && {
    usageMetadata: {
      promptTokenCount: stated.input,
      candidatesTokenCount: stated.output,
      totalTokenCount: stated.input + stated.output,
    },
  }),
});

const gemini: Wire = {
  channel: { dialect: 'gemini' },
  relays: 'native',
  translates: ['chat', 'responses', 'messages'],
  begin: (stated) => (stated === undefined ? '' : events(candidateOf([], stated))),
  piece: (piece, _, stated) => events(candidateOf([partOf(piece)], stated)),
  finish: (stated) => events(candidateOf([], stated, 'STOP')),
  error: events({ error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } }),
  document: (pieces, stated) => candidateOf(pieces.map(partOf), stated, 'STOP'),
};

/** The same as one array, as a native caller without `alt=sse` gets it. */
const geminiArray: Wire = {
  ...gemini,
  relays: 'nativeArray',
  translates: [],
  begin: (stated) => `[${arrayOf(gemini.begin(stated) || events({})).slice(1)}`,
  piece: (piece, index, stated) => arrayOf(gemini.piece(piece, index, stated)),
  finish: (stated) => `${arrayOf(gemini.finish(stated))}]`,
  error: arrayOf(gemini.error),
  contentType: 'application/json',
};

function arrayOf(event: string): string {
  return `,${event.slice('data: '.length).trim()}`;
}

const messageUsage = (stated?: Stated) =>
  stated && { usage: { input_tokens: stated.input, output_tokens: stated.output } };

const anthropic: Wire = {
  channel: { dialect: 'anthropic' },
  relays: 'messages',
  translates: ['chat', 'native', 'nativeArray', 'responses'],
  begin: (stated) =>
    events({
      type: 'message_start',
      message: { id: 'msg_1', role: 'assistant', content: [], ...messageUsage(stated) },
    }),
  piece: ({ kind, text }, index, stated) => {
    const block = {
      text: [
        { type: 'text', text: '' },
        { type: 'text_delta', text },
      ],
      reasoning: [
        { type: 'thinking', thinking: '' },
        { type: 'thinking_delta', thinking: text },
      ],
      tool: [
        { type: 'tool_use', id: `toolu_${index}`, name: 'f', input: {} },
        { type: 'input_json_delta', partial_json: toolArguments(text) },
      ],
    };
    const [content_block, delta] = block[kind];
    const usage = messageUsage(stated);
    return events(
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
      ...(usage === undefined ? [] : [{ type: 'message_delta', delta: {}, ...usage }]),
    );
  },
  finish: (stated) =>
    events(
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...messageUsage(stated) },
      { type: 'message_stop' },
    ),
  error: events({ type: 'error', error: { type: 'overloaded_error', message: 'overloaded' } }),
  document: (pieces, stated) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: pieces.map(({ kind, text }, index) =>
      kind === 'tool'
        ? { type: 'tool_use', id: `toolu_${index}`, name: 'f', input: { q: text } }
        : kind === 'text'
          ? { type: 'text', text }
          : { type: 'thinking', thinking: text, signature: '' },
    ),
    stop_reason: 'end_turn',
    ...messageUsage(stated),
  }),
};

const responseOf = (status: string, usage?: object) => ({
  response: { id: 'resp_1', object: 'response', model: 'm', status, output: [], ...usage },
});

/** Only the last event of this API states usage. */
const openaiResponses: Wire = {
  channel: { dialect: 'openai', capabilities: { responses: true } },
  relays: 'responses',
  translates: [],
  begin: () => events({ type: 'response.created', ...responseOf('in_progress') }),
  piece: ({ kind, text }, output_index) => {
    const type = {
      text: 'response.output_text.delta',
      reasoning: 'response.reasoning_summary_text.delta',
      tool: 'response.function_call_arguments.delta',
    };
    return events({ type: type[kind], item_id: 'item_1', output_index, delta: text });
  },
  finish: (stated) =>
    events({ type: 'response.completed', ...responseOf('completed', messageUsage(stated)) }),
  error: events({ type: 'error', code: 'server_error', message: 'overloaded' }),
};

/** All of them, by name. */
export const wires: Readonly<Record<string, Wire>> = {
  openai,
  gemini,
  geminiArray,
  anthropic,
  openaiResponses,
};
