/** Messages of event streams, written by AWS's own codec. */
import { EventStreamCodec } from '@smithy/eventstream-codec';

export const codec = new EventStreamCodec(
  (bytes) => Buffer.from(toBytes(bytes)).toString('utf8'),
  (text) => Buffer.from(text),
);

function toBytes(input: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof input === 'string') return Buffer.from(input);
  return ArrayBuffer.isView(input)
    ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
    : new Uint8Array(input);
}

/** A message whose headers are strings. */
export function message(headers: Readonly<Record<string, string>>, body: string): Buffer {
  const typed: Parameters<typeof codec.encode>[0]['headers'] = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, { type: 'string', value }]),
  );
  return Buffer.from(codec.encode({ headers: typed, body: Buffer.from(body) }));
}

/** A part of a reply, as Bedrock sends it: with bytes that hide its length. */
export function chunk(event: unknown): Buffer {
  const bytes = Buffer.from(typeof event === 'string' ? event : JSON.stringify(event));
  return message(
    { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify({ bytes: bytes.toString('base64'), p: 'abcdefghijkl' }),
  );
}

/** An exception in a stream, in one of the two spellings that the clients read. */
export function exception(name: string, text: string, as: 'event' | 'exception'): Buffer {
  const type = as === 'event' ? ':event-type' : ':exception-type';
  return message(
    { [type]: name, ':content-type': 'application/json', ':message-type': as },
    JSON.stringify({ message: text }),
  );
}

export const streamHeaders = { 'content-type': 'application/vnd.amazon.eventstream' } as const;

export const metrics = {
  inputTokenCount: 25,
  outputTokenCount: 15,
  invocationLatency: 1_234,
  firstByteLatency: 432,
} as const;

/** The events of a reply of Claude on Bedrock, which is longer the more words it has. */
export function replyEvents(words: readonly string[] = ['Hello', ' there']): readonly unknown[] {
  const usage = { input_tokens: 25, output_tokens: 1 };
  return [
    {
      type: 'message_start',
      message: {
        model: 'claude-sonnet-4-5-20250929',
        id: 'msg_bdrk_01',
        type: 'message',
        role: 'assistant',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...words.map((text) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text },
    })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 15 },
    },
    { type: 'message_stop', 'amazon-bedrock-invocationMetrics': metrics },
  ];
}

/** The same as Anthropic's own server sends it. */
export function asServerSent(events: readonly unknown[]): string {
  return events
    .map((event) => `event: ${typeOf(event)}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

function typeOf(event: unknown): string {
  return typeof event === 'object' && event !== null && 'type' in event ? String(event.type) : '';
}
