/**
 * What a recorded reply says, worked out from its text with `JSON.parse` and simple code: it shares
 * nothing with the code under test, and is as slow as it likes.
 */
import type { DialectName } from '../../../src/ports/catalog.ts';
import { anthropicReply, anthropicStream, anthropicWhole } from './oracle-anthropic.ts';
import { geminiReply, geminiStream, geminiWhole } from './oracle-gemini.ts';
import { openaiReply, openaiStream, openaiWhole } from './oracle-openai.ts';
import { type Json, parsed, text } from './tree.ts';

/** A piece of a choice. */
export type Said =
  | { readonly kind: 'text' | 'thought'; readonly text: string }
  | { readonly kind: 'call'; readonly name: string; readonly args: unknown }
  | { readonly kind: 'media'; readonly data: string };

/** One choice. */
export interface Choice {
  readonly index: number;
  /** In the order in which it came; text that joins is one piece. */
  readonly said: readonly Said[];
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';
}

/** What was consumed. */
export interface Figures {
  /** The cached ones among them. */
  readonly input: number;
  readonly cached: number;
  /** The reasoning ones among them. */
  readonly output: number;
}

/** What a reply says. */
export interface Reply {
  /** None where the prompt was blocked. */
  readonly choices: readonly Choice[];
  readonly figures: Figures | undefined;
  /** Nobody could use it: it is told as a failure. */
  readonly useless?: boolean;
}

/** What the oracle knows of a dialect. */
export interface Oracle {
  /** The whole reply that the documents of a stream amount to. */
  whole(documents: readonly Json[]): Json;
  /** A stream that amounts to the whole reply, cut anyhow. */
  stream(whole: Json, draw: (below: number) => number): readonly Json[];
  /** What a whole reply says. */
  reply(whole: Json): Reply;
}

/** By dialect. */
export const oracles: Readonly<Record<DialectName, Oracle>> = {
  openai: { whole: openaiWhole, stream: openaiStream, reply: openaiReply },
  gemini: { whole: geminiWhole, stream: geminiStream, reply: geminiReply },
  anthropic: { whole: anthropicWhole, stream: anthropicStream, reply: anthropicReply },
};

/** The events of a recorded stream, each with its blank line; the last may lack it. */
export function eventsOf(stream: string): readonly string[] {
  return stream.match(/[\s\S]+?(?:\r\n\r\n|\n\n|\r\r|$)/g) ?? [];
}

/** What stands behind `data:` in an event; an event that is not framed is its own data. */
export function dataOf(event: string): string {
  const lines = event.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? event : lines.map((line) => line.slice(5).trimStart()).join('\n');
}

/** The documents of a stream; undefined in the place of one that can't be read. */
export function documentsOf(stream: string): readonly unknown[] {
  return eventsOf(stream)
    .map(dataOf)
    .filter((data) => data.trim() !== '' && data.trim() !== '[DONE]')
    .map(parsed);
}

/** Documents as the SSE stream of a dialect. */
export function framed(dialect: DialectName, documents: readonly Json[]): readonly string[] {
  const lineEnd = dialect === 'gemini' ? '\r\n' : '\n';
  const events = documents.map((document) => {
    const name = dialect === 'anthropic' ? `event: ${text(document.type)}${lineEnd}` : '';
    return `${name}data: ${JSON.stringify(document)}${lineEnd}${lineEnd}`;
  });
  return dialect === 'openai' ? [...events, 'data: [DONE]\n\n'] : events;
}
