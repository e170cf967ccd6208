/**
 * Shared by the relay tests: responses to play, ways to cut them, and the error that ends a broken
 * one.
 */
import { type CallerRequest, chat, native } from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { type Fixture, fixtures } from '../support/recorded/fixtures.ts';
import type { ScriptedReply } from '../support/scripted-upstream.ts';
import { drawn } from '../support/seeds.ts';
import type { CallerApi } from './oracle.ts';

/** Every recording of the two dialects. */
export const recordings: readonly Fixture[] = fixtures(
  'gemini',
  'openai-chat',
  'openai-compat',
  'openai-images',
);

/** The recordings of streams with a 2xx status. */
export const streams: readonly Fixture[] = recordings.filter(
  ({ streamed, status }) => streamed && status === 200,
);

/** An SSE response in these chunks. */
export function sse(...chunks: readonly (Uint8Array | string)[]): ScriptedReply {
  return { headers: { 'content-type': 'text/event-stream; charset=utf-8' }, chunks };
}

/** A JSON response in these chunks. */
export function json(...chunks: readonly (Uint8Array | string)[]): ScriptedReply {
  return { headers: { 'content-type': 'application/json' }, chunks };
}

/** A streamed request to the protocol of a recording. */
export function streamed(api: CallerApi): CallerRequest {
  return api === 'native' ? native('sse') : chat();
}

/** One chunk per byte. */
export function bytewise(bytes: Uint8Array): readonly Uint8Array[] {
  return Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));
}

/** Pieces of 1 to 7 bytes, the same ones for the same seed. */
export function pieces(bytes: Uint8Array, seed: number): readonly Uint8Array[] {
  const cut: Uint8Array[] = [];
  const draw = drawn(seed);
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + draw(7);
    cut.push(bytes.subarray(at, at + length));
    at += length;
  }
  return cut;
}

/** How a broken response ended: the text before the error, and the error's document. */
export interface Broken {
  readonly before: string;
  readonly error: unknown;
}

/**
 * Splits the gateway's error off the end of a stream, by the exact form that its protocol requires;
 * undefined if the stream does not end in that form.
 */
export function brokenStream(
  api: CallerApi,
  { writes, text, isCut }: CallerReply,
): Broken | undefined {
  if (isCut) return undefined;
  if (api === 'chat') {
    const found = /^([\s\S]*?)data: (\{"error":\{[^\n]*\}\})\n\n$/.exec(text);
    return found === null ? undefined : broken(found[1], found[2]);
  }
  // The unframed document must be the whole last write, and equal the event before it.
  const bare = writes.at(-1)?.toString() ?? '';
  const event = `data: ${bare}\r\n\r\n`;
  return writes.at(-2)?.toString() === event
    ? broken(text.slice(0, -bare.length - event.length), bare)
    : undefined;
}

function broken(before: string | undefined, document: string | undefined): Broken {
  const parsed: unknown = JSON.parse(document ?? '');
  return { before: before ?? '', error: Reflect.get(Object(parsed), 'error') };
}
