/** Replies of upstreams made to keep the event loop busy, at the limits and far above them. */

import type { Capabilities, DialectName } from '../../src/ports/models/capabilities.ts';
import type { CallerRequest } from '../support/any-model-gateway.ts';
import {
  chat,
  embeddings,
  native,
  nativeEmbeddings,
  wholeChat,
} from '../support/any-model-gateway.ts';

/** A reply, and the call that it answers. */
export interface WorstReply {
  readonly name: string;
  readonly dialect: DialectName;
  readonly request: CallerRequest;
  readonly contentType: string;
  /** Made when it is sent: together they would take more than a gigabyte. */
  readonly body: () => Buffer;
  readonly capabilities?: Capabilities;
}

const mebibyte = 1_048_576;

/** Elements by name, and how many of them the limits allow in one list. */
const units: readonly (readonly [string, number])[] = [
  ['{}', 749_000],
  ['[]', 749_000],
  ['0', 2_990_000],
  ['"a"', 2_990_000],
  ['{"type":"text","text":"a"}', 749_000],
  ['{"text":"a"}', 749_000],
  ['{"type":"thing","id":1}', 749_000],
  // As many as one document may have.
  ['{"type":"text","text":"a"}', 100_000],
  ['{"text":"a"}', 100_000],
];

type Around = (list: string) => string;
type Text = () => string;

const places: readonly (readonly [string, DialectName, 'chat' | 'native', Around])[] = [
  [
    'blocks',
    'anthropic',
    'chat',
    (list) => `{"type":"message","content":[${list}],"stop_reason":"end_turn"}`,
  ],
  [
    'citations',
    'anthropic',
    'chat',
    (list) =>
      `{"type":"message","content":[{"type":"text","text":"a","citations":[${list}]}],
      "stop_reason":"end_turn"}`.replace(/\n\s*/g, ''),
  ],
  ['candidates', 'gemini', 'chat', (list) => `{"candidates":[${list}]}`],
  [
    'parts',
    'gemini',
    'chat',
    (list) => `{"candidates":[{"content":{"parts":[${list}]},"finishReason":"STOP"}]}`,
  ],
  [
    'tool calls',
    'openai',
    'native',
    (list) => `{"choices":[{"index":0,"finish_reason":"stop","message":{"tool_calls":[${list}]}}]}`,
  ],
  ['choices', 'openai', 'native', (list) => `{"choices":[${list}]}`],
];

const logprob = '{"token":"abcd","logprob":-12.345678,"bytes":[97,98,99,100]}';
const token = `{"token":"abcd","logprob":-1.25,"bytes":[97,98,99,100],
"top_logprobs":[${Array.from({ length: 20 }, () => logprob).join(',')}]}`;

/** The largest real reply that we know of. */
const logprobs = `{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"a"},
"logprobs":{"content":[${Array.from({ length: 16_384 }, () => token).join(',')}]}}]}`;

function both(name: string, dialect: DialectName, protocol: 'chat' | 'native', text: Text) {
  return (['whole', 'one event'] as const).map((framing): WorstReply => {
    const isWhole = framing === 'whole';
    const request =
      protocol === 'chat'
        ? chat(isWhole ? wholeChat : undefined)
        : native(isWhole ? 'json' : 'sse');
    return {
      name: `a reply of ${name}, ${framing}, ${protocol} from ${dialect}`,
      dialect,
      request,
      contentType: isWhole ? 'application/json' : 'text/event-stream',
      body: () => Buffer.from(isWhole ? text() : `data: ${text().replaceAll('\n', ' ')}\n\n`),
    };
  });
}

const inputs = 2_048;
const numbers = Array.from({ length: 3_072 }, (_, index) => Math.sin(index) / 20);
const vector = `[${numbers.map((number) => number.toPrecision(9)).join(',')}]`;
const packed = `"${Buffer.from(Float32Array.from(numbers).buffer).toString('base64')}"`;
const repeated = (count: number, piece: string): string =>
  Array.from({ length: count }, () => piece).join(',');

function embeddingCall(format: 'float' | 'base64'): CallerRequest {
  const texts = `[${repeated(inputs, '"a"')}]`;
  return embeddings(`{"model":"m","encoding_format":"${format}","input":${texts}}`);
}

/** 2,048 vectors of 3,072 numbers; Google sends them in 16 replies. */
function* embeddingReplies(): Generator<WorstReply> {
  const contentType = 'application/json';
  const batch = inputs / 16;
  const values = () => Buffer.from(`{"embeddings":[${repeated(batch, `{"values":${vector}}`)}]}`);
  const capabilities: Capabilities = { embeddingBatch: batch };
  for (const format of ['float', 'base64'] as const) {
    const name = `16 replies of ${batch} vectors, ${format} from gemini`;
    const request = embeddingCall(format);
    yield { name, dialect: 'gemini', request, contentType, body: values, capabilities };
  }
  const request = nativeEmbeddings(
    `{"requests":[${repeated(inputs, '{"content":{"parts":[{"text":"a"}]}}')}]}`,
  );
  for (const [form, one] of [
    ['Base64', packed],
    ['numbers', vector],
  ]) {
    const body = () => Buffer.from(`{"data":[${repeated(inputs, `{"embedding":${one}}`)}]}`);
    const name = `a reply of ${inputs} vectors as ${form}, native from openai`;
    yield { name, dialect: 'openai', request, contentType, body };
  }
  yield* repairedReplies();
}

/** The same in the other format than the caller asked for, relayed. */
function* repairedReplies(): Generator<WorstReply> {
  for (const [format, one] of [
    ['base64', vector],
    ['float', packed],
  ] as const) {
    const body = () => Buffer.from(`{"data":[${repeated(inputs, `{"embedding":${one}}`)}]}`);
    const name = `a reply of ${inputs} vectors, converted to ${format} from openai`;
    const request = embeddingCall(format);
    yield { name, dialect: 'openai', request, contentType: 'application/json', body };
  }
}

export function* worstReplies(): Generator<WorstReply> {
  yield* embeddingReplies();
  for (const [place, dialect, protocol, around] of places) {
    for (const [unit, count] of units) {
      const text = () => around(repeated(count, unit));
      yield* both(`${count} × ${unit} as ${place}`, dialect, protocol, text);
    }
    const far = () => around(`${'{},'.repeat((31 * mebibyte) / 3)}{}`);
    yield* both(`31 MiB of {} as ${place}`, dialect, protocol, far);
    yield* both('31 MiB of [', dialect, protocol, () => '['.repeat(31 * mebibyte));
  }
  yield* both('16,384 × 20 logprobs', 'openai', 'native', () => logprobs);
}
