/**
 * Reads the content of recorded replies with `JSON.parse` and simple code that shares nothing with
 * the code under test, and needn't be fast.
 */
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { anthropicReply, anthropicStream, anthropicWhole } from './oracle-anthropic.ts';
import { geminiReply, geminiStream, geminiWhole } from './oracle-gemini.ts';
import { openaiReply, openaiStream, openaiWhole } from './oracle-openai.ts';
import { type Json, parsed, text } from './tree.ts';

/** A piece of a choice. */
export type OutputPart =
  | { readonly kind: 'text' | 'thought'; readonly text: string }
  | { readonly kind: 'call'; readonly name: string; readonly args: unknown }
  | { readonly kind: 'media'; readonly data: string };

/** One choice. */
export interface Choice {
  readonly index: number;
  /** In the order received; consecutive text is one piece. */
  readonly output: readonly OutputPart[];
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';
}

/** The usage. */
export interface Figures {
  /** Includes the cached tokens. */
  readonly input: number;
  readonly cached: number;
  /** Includes the reasoning tokens. */
  readonly output: number;
}

/** The content of a reply. */
export interface Reply {
  /** Empty if the prompt was blocked. */
  readonly choices: readonly Choice[];
  readonly figures: Figures | undefined;
  /** The reply is unusable and reported as a failure. */
  readonly useless?: boolean;
}

/** Whether a reply is unusable to Messages callers, who get no media. */
export function isUselessMessage({ choices, useless }: Reply): boolean {
  const kinds = (choices[0]?.output ?? []).map(({ kind }) => kind);
  const isAnswer = kinds.some((kind) => kind === 'text' || kind === 'call');
  return useless === true || (kinds.includes('media') && !isAnswer);
}

/** The oracle's functions for a dialect. */
export interface Oracle {
  /** The whole reply that the documents of a stream add up to. */
  whole(documents: readonly Json[]): Json;
  /** A stream that adds up to the whole reply, split anywhere. */
  stream(whole: Json, draw: (below: number) => number): readonly Json[];
  /** The content of a whole reply. */
  reply(whole: Json): Reply;
}

/** The oracles by dialect. */
export const oracles: Readonly<Record<DialectName, Oracle>> = {
  openai: { whole: openaiWhole, stream: openaiStream, reply: openaiReply },
  gemini: { whole: geminiWhole, stream: geminiStream, reply: geminiReply },
  anthropic: { whole: anthropicWhole, stream: anthropicStream, reply: anthropicReply },
};

/** The events of a recorded stream, each with its blank line; the last may lack it. */
export function eventsOf(stream: string): readonly string[] {
  return stream.match(/[\s\S]+?(?:\r\n\r\n|\n\n|\r\r|$)/g) ?? [];
}

/** The data of an event; an event without framing is its own data. */
export function dataOf(event: string): string {
  const lines = event.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? event : lines.map((line) => line.slice(5).trimStart()).join('\n');
}

/** The documents of a stream; undefined for one that can't be parsed. */
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
