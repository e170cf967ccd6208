/**
 * The expected output of the relay, computed from a recording with regular expressions and
 * `JSON.parse`. It shares no code with the relay, and need not be fast.
 */
import type { Usage } from '../../src/money.ts';
import type { Fixture } from '../support/recorded/fixtures.ts';

/**
 * The protocol that a recording is replayed to; some recordings in the OpenAI folder are of
 * Google's endpoints.
 */
export type CallerApi = 'chat' | 'images' | 'native';

/** The protocol of a recording. */
export function doorOf({ url, category }: Fixture): CallerApi {
  if (category === 'gemini' || url.includes('generateContent')) return 'native';
  return category === 'openai-images' ? 'images' : 'chat';
}

/** A relayed stream: what is passed on, and whether an error of the gateway must follow. */
export interface Relayed {
  readonly text: string;
  readonly broken: boolean;
}

/** The usage event is removed unless the caller requested it; nothing else changes. */
export function relayedChat(text: string, wantsUsage: boolean): Relayed {
  const events = eventsOf(text);
  const ended = events.some(
    (event) =>
      dataOf(event) === '[DONE]' ||
      list(documentOf(event)?.choices).some((choice) => isText(record(choice)?.finish_reason)),
  );
  const kept = events.filter((event) => wantsUsage || !isUsageFrame(documentOf(event)));
  return { text: kept.join(''), broken: !ended };
}

/** Every event is framed as Google's parsers read it; an error ends the stream. */
export function relayedNative(text: string): Relayed {
  const events = eventsOf(text);
  const faulty = events.findIndex((event) => record(documentOf(event)?.error) !== undefined);
  const good = faulty === -1 ? events : events.slice(0, faulty);
  const spoke = text.includes('"parts"');
  const ended = /"(?:finish|block)Reason" ?: ?"/.test(good.join(''));
  return {
    text: good
      .filter((event) => documentOf(event) !== undefined)
      .map(googleFrame)
      .join(''),
    broken: faulty !== -1 || (spoke && !ended),
  };
}

/** The usage that the upstream reported: the last in the reply. */
export function usageOf(api: CallerApi, text: string): Usage | undefined {
  const documents = text.startsWith('data:')
    ? eventsOf(text).map(documentOf)
    : [record(JSON.parse(text))];
  const named = api === 'native' ? 'usageMetadata' : 'usage';
  const figures = documents.map((document) => record(document?.[named])).filter(isPresent);
  const last = figures.at(-1);
  if (api === 'images') return undefined;
  // A blocked prompt has no candidates, and costs nothing if no usage is stated.
  const answers = documents.map((document) => JSON.stringify(document?.candidates ?? []));
  const hasAnswer = api !== 'native' || answers.some((candidates) => candidates !== '[]');
  if (last === undefined) return hasAnswer ? undefined : nativeUsage({});
  return api === 'native' ? nativeUsage(last) : chatUsage(last);
}

function chatUsage(usage: Json): Usage {
  const inputTokens = count(usage.prompt_tokens);
  const implied = count(usage.total_tokens) - inputTokens;
  const completion = count(usage.completion_tokens);
  const reasoning = count(record(usage.completion_tokens_details)?.reasoning_tokens);
  // xAI counts its reasoning beside the completion.
  const isBeside = implied === completion + reasoning;
  return {
    inputTokens,
    cachedInputTokens: count(record(usage.prompt_tokens_details)?.cached_tokens),
    outputTokens: usage.completion_tokens === undefined || isBeside ? implied : completion,
    images: 0,
  };
}

function nativeUsage(usage: Json): Usage {
  return {
    inputTokens: count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
    cachedInputTokens: count(usage.cachedContentTokenCount),
    outputTokens: count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount),
    images: 0,
  };
}

/** An event with its blank line; the last may lack it. */
export function eventsOf(text: string): readonly string[] {
  return text.match(/[\s\S]+?(?:\r\n\r\n|\n\n|\r\r|$)/g) ?? [];
}

/** The JSON of an event, framed or not. */
export function documentOf(event: string): Json | undefined {
  try {
    return record(JSON.parse(dataOf(event) ?? event));
  } catch {
    return undefined;
  }
}

type Json = Readonly<Record<string, unknown>>;

function dataOf(event: string): string | undefined {
  const lines = event.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'));
  return lines.length === 0
    ? undefined
    : lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n');
}

function googleFrame(event: string): string {
  return /^data: \{[^\r\n\u2028\u2029]*(?:\r\n\r\n|\n\n)$/.test(event)
    ? event
    : `data: ${(dataOf(event) ?? event).replaceAll('\n', ' ')}\r\n\r\n`;
}

function isUsageFrame(document: Json | undefined): boolean {
  return record(document?.usage) !== undefined && list(document?.choices).length === 0;
}

function record(value: unknown): Json | undefined {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? Object.fromEntries(Object.entries(value)) : undefined;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined;
}
