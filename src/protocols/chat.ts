/**
 * Reads a chat completion request (spec §2.1, WIRE §2.1): what must be right, and what prices the
 * call.
 */
import { z } from 'zod';
import type { Member, Span } from '../bytes/json-scan.ts';
import { findMember, kindAt, valueAt } from '../bytes/members.ts';
import type { Call } from '../call.ts';
import { GatewayError } from '../errors.ts';
import { arrayMember, type FieldName, readFields, type ScannedBody } from './fields.ts';
import {
  addMembers,
  objectAt,
  type PromptSize,
  type PromptTally,
  promptTally,
  spansOf,
  stringMember,
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
const fieldNames: readonly FieldName[] = [
  'model',
  'stream',
  ['stream_options', ['include_usage']],
  'temperature',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'prompt_cache_key',
];
/** Members beside the messages that end up in the prompt. */
const promptMembers: readonly string[] = ['tools', 'functions', 'response_format', 'prediction'];
const mediaTypes: ReadonlySet<string> = new Set(['image_url', 'input_audio', 'file', 'video_url']);

/** @throws GatewayError `invalid_request` that names the member */
export function readChat(scanned: ScannedBody): Call {
  const fields = readFields(scanned, fieldNames, chatFields);
  const { max_tokens: old, max_completion_tokens: current } = fields;
  if (typeof old === 'number' && typeof current === 'number' && old !== current) {
    throw new GatewayError(
      'invalid_request',
      '`max_tokens` and `max_completion_tokens` differ. Send only one of them.',
      { param: 'max_tokens' },
    );
  }
  const tools = findMember(scanned.members, 'tools');
  if (tools !== undefined && !['array', 'null'].includes(kindAt(scanned.body, tools.value))) {
    throw new GatewayError('invalid_request', '`tools` must be an array.', { param: 'tools' });
  }
  return {
    protocol: 'chat',
    operation: 'chat',
    modelId: fields.model,
    framing: fields.stream === true ? 'sse' : 'json',
    ...scanned,
    promptCacheKey: textOf(fields.prompt_cache_key),
    wantsUsage: fields.stream_options?.include_usage === true,
    demand: {
      ...promptSize(scanned),
      maxOutputTokens: current ?? old ?? undefined,
      candidates: fields.n ?? 1,
      size: undefined,
      quality: undefined,
    },
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function promptSize(scanned: ScannedBody): PromptSize {
  const { body } = scanned;
  const tally = promptTally(body);
  const messages = arrayMember(scanned, 'messages', 'Send the conversation, oldest message first.');
  for (const span of spansOf(body, messages)) {
    const message = objectAt(body, span);
    if (message === undefined || stringMember(body, message, 'role') === undefined) {
      throw new GatewayError(
        'invalid_request',
        'Every element of `messages` must be an object with a string `role`.',
        { param: 'messages' },
      );
    }
    tally.message();
    for (const member of message) addMember(tally, body, member);
  }
  addMembers(tally, scanned, promptMembers);
  return tally.size();
}

function addMember(tally: PromptTally, body: Uint8Array, member: Member): void {
  switch (kindAt(body, member.value)) {
    case 'string':
      return tally.text(member.value);
    case 'array':
      for (const part of spansOf(body, member)) addPart(tally, body, part);
      return;
    default:
      tally.other(member.value);
  }
}

function addPart(tally: PromptTally, body: Uint8Array, span: Span): void {
  const part = objectAt(body, span) ?? [];
  const type = stringMember(body, part, 'type');
  if (type !== undefined && mediaTypes.has(String(valueAt(body, type)))) return tally.media();
  const text = stringMember(body, part, 'text');
  if (text !== undefined) return tally.text(text);
  tally.other(span);
}
