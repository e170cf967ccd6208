/** What the relay tests share: answers to play, ways to cut them, and the error that ends one. */
import { type Answer, type Asked, chat, native } from '../support/call-gateway.ts';
import { type Fixture, fixtures } from '../support/fixtures.ts';
import type { Played } from '../support/played-upstream.ts';
import type { Door } from './oracle.ts';

/** Every recording of the two dialects. */
export const recordings: readonly Fixture[] = fixtures().filter(
  ({ category }) => category !== 'anthropic',
);

/** Those that are streams and came with a 2xx. */
export const streams: readonly Fixture[] = recordings.filter(
  ({ streamed, status }) => streamed && status === 200,
);

/** An SSE answer in these chunks. */
export function sse(...chunks: readonly (Uint8Array | string)[]): Played {
  return { headers: { 'content-type': 'text/event-stream; charset=utf-8' }, chunks };
}

/** A JSON answer in these chunks. */
export function json(...chunks: readonly (Uint8Array | string)[]): Played {
  return { headers: { 'content-type': 'application/json' }, chunks };
}

/** A streamed request for a recording of this door. */
export function streamed(door: Door): Asked {
  return door === 'native' ? native('sse') : chat();
}

/** One chunk a byte. */
export function bytewise(bytes: Uint8Array): readonly Uint8Array[] {
  return Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));
}

/** Pieces of 1 to 7 bytes, the same ones for the same seed (mulberry32). */
export function pieces(bytes: Uint8Array, seed: number): readonly Uint8Array[] {
  const cut: Uint8Array[] = [];
  let state = seed;
  for (let at = 0; at < bytes.length; ) {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    const length = 1 + (((mixed ^ (mixed >>> 14)) >>> 0) % 7);
    cut.push(bytes.subarray(at, at + length));
    at += length;
  }
  return cut;
}

/** How an answer ended: what stands before the error, and the error's document. */
export interface Broken {
  readonly before: string;
  readonly error: unknown;
}

/**
 * Takes the error of ours off the end of a stream, by the exact form that its protocol demands;
 * undefined where it does not end in that form.
 */
export function brokenStream(door: Door, { writes, text, cut }: Answer): Broken | undefined {
  if (cut) return undefined;
  if (door === 'chat') {
    const found = /^([\s\S]*?)data: (\{"error":\{[^\n]*\}\})\n\n$/.exec(text);
    return found === null ? undefined : broken(found[1], found[2]);
  }
  // The bare document is the last write, alone in it, and what the event before it said.
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
