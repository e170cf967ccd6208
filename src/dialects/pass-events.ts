/**
 * Passes the named events of a relayed stream on, for taps that recognise most of them without
 * parsing.
 */
import { concatBytes, parseEvent, type SseEvent } from '../bytes/sse.ts';
import type { ByteBounds } from './tap.ts';

/** What a tap does with the events of its stream. */
export interface EventHandler {
  /** `contentBlocks` grows with every event that has content. */
  readonly record: { readonly bounds: ByteBounds; readonly contentBlocks: number };
  /** Nothing more is passed on. */
  isOver(): boolean;
  /** Records the events from `start` on that need not be parsed; returns the end of the last. */
  passKnown(text: string, start: number): number;
  /** Records any other event; returns the bytes that are passed on, undefined for none. */
  accept(event: SseEvent, text: string): Uint8Array | undefined;
}

/** The bytes that are passed on, and the end of the last event that was handled. */
export interface PassedEvents {
  readonly bytes: Uint8Array;
  readonly end: number;
}

/** Passes whole events on, also given as latin1. Usually the block itself is returned, uncopied. */
export function passEvents(block: Uint8Array, text: string, handler: EventHandler): PassedEvents {
  const { record } = handler;
  const kept: Uint8Array[] = [];
  let from = 0;
  let at = handler.passKnown(text, 0);
  while (at < block.length && !handler.isOver()) {
    const event = parseEvent(block, at);
    const end = at + event.raw.length;
    const before = record.contentBlocks;
    const bytes = handler.accept(event, text.slice(at, end));
    record.bounds.add(event.raw.length, record.contentBlocks !== before);
    if (bytes !== event.raw) {
      if (from < at) kept.push(block.subarray(from, at));
      if (bytes !== undefined) kept.push(bytes);
      from = end;
    }
    at = handler.isOver() ? end : handler.passKnown(text, end);
  }
  if (from === 0 && at === block.length) return { bytes: block, end: at };
  if (from < at) kept.push(block.subarray(from, at));
  return { bytes: concatBytes(kept), end: at };
}
