/** Reads the content of recorded Anthropic replies, independently of the code under test. */
import type { Choice, Figures, OutputPart, Reply } from './oracle.ts';
import { joined } from './pieces.ts';
import {
  count,
  isRecord,
  type Json,
  list,
  output,
  parsed,
  record,
  text,
  torn,
  without,
} from './tree.ts';

/** The message that the events of a stream add up to; the first message counts. */
export function anthropicWhole(documents: readonly Json[]): Json {
  const starts = documents.filter(({ type }) => type === 'message_start');
  const changes = documents.filter(({ type }) => type === 'message_delta');
  const usages = documents.flatMap(({ message, usage }) => [record(message).usage, usage]);
  const stops = changes.map(({ delta }) => output(record(delta)));
  const indexes = new Set(documents.flatMap(({ index }) => (index === undefined ? [] : [index])));
  return {
    ...record(starts[0]?.message),
    content: [...indexes].map((at) => wholeBlock(documents.filter(({ index }) => index === at))),
    ...Object.assign({}, ...stops),
    usage: Object.assign({}, ...usages.map((usage) => output(record(usage)))),
  };
}

function wholeBlock(events: readonly Json[]): Json {
  const opened = events.find(({ type }) => type === 'content_block_start');
  const block = record(opened?.content_block);
  const deltas = events.map(({ delta }) => record(delta));
  const merged = (name: string): string => deltas.map((delta) => text(delta[name])).join('');
  const input = merged('partial_json');
  const texts = ['text', 'thinking', 'signature'].map((name) => [name, merged(name)] as const);
  return {
    ...block,
    ...Object.fromEntries(
      texts
        .filter(([, more]) => more !== '')
        .map(([name, more]) => [name, text(block[name]) + more]),
    ),
    ...(input === '' ? {} : { input: parsed(input) }),
  };
}

/** The events of a stream that adds up to the message. */
export function anthropicStream(whole: Json, draw: (below: number) => number): readonly Json[] {
  const { input_tokens, service_tier, ...later } = record(whole.usage);
  const first = service_tier === undefined ? { input_tokens } : { input_tokens, service_tier };
  const ends = ['stop_reason', 'stop_sequence', 'stop_details'];
  const head = without(whole, 'content', 'usage', ...ends);
  const delta = Object.fromEntries(ends.map((name) => [name, whole[name] ?? null]));
  const blocks = list(whole.content).flatMap((block, index) => [
    ...blockEvents(record(block), draw).map((event) => ({ ...event, index })),
    { type: 'content_block_stop', index },
  ]);
  return [
    { type: 'message_start', message: { ...head, content: [], usage: first } },
    { type: 'ping' },
    ...blocks,
    { type: 'message_delta', delta, usage: later },
    { type: 'message_stop' },
  ];
}

function blockEvents(block: Json, draw: (below: number) => number): readonly Json[] {
  const start = (content_block: Json): Json => ({ type: 'content_block_start', content_block });
  const deltas = (type: string, name: string, whole: string): readonly Json[] =>
    torn(whole, draw).map((piece) => ({
      type: 'content_block_delta',
      delta: { type, [name]: piece },
    }));
  switch (block.type) {
    case 'text':
      return [
        start({ ...block, text: '', citations: undefined }),
        ...deltas('text_delta', 'text', text(block.text)),
        ...list(block.citations).map((citation) => ({
          type: 'content_block_delta',
          delta: { type: 'citations_delta', citation },
        })),
      ];
    case 'thinking':
      return [
        start({ ...block, thinking: '', signature: '' }),
        ...deltas('thinking_delta', 'thinking', text(block.thinking)),
        {
          type: 'content_block_delta',
          delta: { type: 'signature_delta', signature: text(block.signature) },
        },
      ];
    case 'tool_use':
    case 'server_tool_use':
      return [
        start({ ...block, input: {} }),
        ...deltas('input_json_delta', 'partial_json', JSON.stringify(block.input)),
      ];
    default:
      return [start(block)];
  }
}

const finishes: Readonly<Record<string, Choice['finish']>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
};

/** The content of a message, which always has one choice. */
export function anthropicReply(whole: Json): Reply {
  const pieces = joined(list(whole.content).flatMap((block) => outputOf(record(block))));
  const word = finishes[text(whole.stop_reason)] ?? 'other';
  const isCall = word === 'stop' && pieces.some(({ kind }) => kind === 'call');
  const choice: Choice = { index: 0, output: pieces, finish: isCall ? 'tool_calls' : word };
  return { choices: [choice], figures: figuresOf(whole.usage) };
}

/** Blocks of server tools are not visible content. */
function outputOf(block: Json): readonly OutputPart[] {
  switch (block.type) {
    case 'text':
      return [{ kind: 'text', text: text(block.text) }];
    case 'thinking':
      return [{ kind: 'thought', text: text(block.thinking) }];
    case 'tool_use':
      return [{ kind: 'call', name: text(block.name), args: block.input ?? {} }];
    default:
      return [];
  }
}

/** What ran beside the reply is stated only in `iterations`. */
function figuresOf(usage: unknown): Figures | undefined {
  if (!isRecord(usage)) return undefined;
  const passes = list(usage.iterations).map(record);
  const beside = ['compaction', 'advisor_message'];
  // The attempt that the model refused.
  if (passes.some(({ type }) => type === 'fallback_message')) beside.push('message');
  const others = passes.filter(({ type }) => beside.includes(String(type)));
  const sum = (name: string): number =>
    [usage, ...others].reduce((total, one) => total + count(one[name]), 0);
  const cached = sum('cache_read_input_tokens');
  return {
    input: sum('input_tokens') + cached + sum('cache_creation_input_tokens'),
    cached,
    output: sum('output_tokens'),
  };
}
