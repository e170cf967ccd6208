/**
 * Reads a chat completion request (spec §2.1, WIRE §2.1): what must be right, and what prices the
 * call.
 */
import { z } from 'zod';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../bytes/json-skip.ts';
import { openBrace, openBracket, quote } from '../bytes/json-text.ts';
import { findMember, kindAt } from '../bytes/members.ts';
import type { ScannedBody } from '../bytes/scan-body.ts';
import type { Call } from '../call.ts';
import { GatewayError } from '../errors.ts';
import { arrayMember, checkedFields, fieldOf, insideField } from './fields.ts';
import {
  addElements,
  addMembers,
  addValue,
  type PromptSize,
  type PromptTally,
  partAdder,
  promptTally,
  sizeOf,
} from './prompt-size.ts';
import { modelField, positiveField } from './rules.ts';

interface ChatFields {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly stream_options?: { readonly include_usage?: unknown } | null | undefined;
  readonly temperature?: number | null | undefined;
  readonly max_tokens?: number | null | undefined;
  readonly max_completion_tokens?: number | null | undefined;
  readonly n?: number | null | undefined;
  readonly prompt_cache_key?: unknown;
}

const chatFields: z.ZodType<ChatFields> = z.object({
  model: modelField,
  stream: z.boolean('must be true or false').nullish(),
  stream_options: z.looseObject({}, 'must be an object').nullish(),
  temperature: z.number('must be a number').nullish(),
  max_tokens: positiveField,
  max_completion_tokens: positiveField,
  n: positiveField,
  // A hint, and the upstream's to judge.
  prompt_cache_key: z.unknown().optional(),
});
/** Members beside the messages that end up in the prompt. */
const promptMembers: readonly string[] = ['tools', 'functions', 'response_format', 'prediction'];
const mediaTypes: readonly string[] = ['image_url', 'input_audio', 'file', 'video_url'];

/** @throws GatewayError `invalid_request` that names the member */
export function readChat(scanned: ScannedBody): Call {
  const fields = checkedFields(chatFields, fieldsOf(scanned));
  const { max_tokens: old, max_completion_tokens: current } = fields;
  if (typeof old === 'number' && typeof current === 'number' && old !== current) {
    throw new GatewayError(
      'invalid_request',
      '`max_tokens` and `max_completion_tokens` differ. Send only one of them.',
      { param: 'max_tokens' },
    );
  }
  const tools = findMember(scanned.members, 'tools');
  if (tools !== undefined && !['array', 'null'].includes(kindAt(scanned.body.text, tools.value))) {
    throw new GatewayError('invalid_request', '`tools` must be an array.', { param: 'tools' });
  }
  const { inputTokens, mediaParts } = promptSize(scanned);
  return {
    protocol: 'chat',
    operation: 'chat',
    modelId: fields.model,
    framing: fields.stream === true ? 'sse' : 'json',
    body: scanned.body,
    members: scanned.members,
    promptCacheKey: textOf(fields.prompt_cache_key),
    wantsUsage: fields.stream_options?.include_usage === true,
    demand: {
      inputTokens,
      mediaParts,
      maxOutputTokens: current ?? old ?? undefined,
      candidates: fields.n ?? 1,
      size: undefined,
      quality: undefined,
    },
  };
}

function fieldsOf(scanned: ScannedBody): { readonly [Name in keyof ChatFields]-?: unknown } {
  return {
    model: fieldOf(scanned, 'model'),
    stream: fieldOf(scanned, 'stream'),
    stream_options: insideField(scanned, 'stream_options', (inside) => ({
      include_usage: fieldOf(inside, 'include_usage'),
    })),
    temperature: fieldOf(scanned, 'temperature'),
    max_tokens: fieldOf(scanned, 'max_tokens'),
    max_completion_tokens: fieldOf(scanned, 'max_completion_tokens'),
    n: fieldOf(scanned, 'n'),
    prompt_cache_key: fieldOf(scanned, 'prompt_cache_key'),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function promptSize(scanned: ScannedBody): PromptSize {
  const messages = arrayMember(scanned, 'messages', 'Send the conversation, oldest message first.');
  const tally = promptTally(scanned.body.gaps);
  addElements(tally, scanned.body.text, messages.value.start, addMessage);
  addMembers(tally, scanned, promptMembers);
  return sizeOf(tally);
}

/** Where the message that begins at `start` ends. */
function addMessage(tally: PromptTally, bytes: Buffer, start: number): number {
  // A string is no message, though those behind it might read like names and values.
  if (bytes[start] !== openBrace) throw noRole();
  tally.messages += 1;
  let hasRole = false;
  let at = firstInside(bytes, start);
  while (bytes[at] === quote) {
    const nameEnd = skipString(bytes, at);
    const value = afterName(bytes, nameEnd);
    hasRole ||= bytes[value] === quote && isString(bytes, at, nameEnd, 'role');
    at = nextInside(bytes, addMember(tally, bytes, value));
  }
  if (!hasRole) throw noRole();
  return at + 1;
}

/** Where the value of a message's member ends, which begins at `start`. */
function addMember(tally: PromptTally, bytes: Buffer, start: number): number {
  if (bytes[start] !== openBracket) {
    const end = skipValue(bytes, start);
    addValue(tally, bytes, start, end);
    return end;
  }
  return addElements(tally, bytes, start, addPart);
}

const addPart = partAdder(
  (bytes, name, nameEnd, value, end) =>
    bytes[value] === quote &&
    isString(bytes, name, nameEnd, 'type') &&
    isMediaType(bytes, value, end),
);

function isMediaType(bytes: Buffer, start: number, end: number): boolean {
  return mediaTypes.some((type) => isString(bytes, start, end, type));
}

function noRole(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'Every element of `messages` must be an object with a string `role`.',
    { param: 'messages' },
  );
}
