/**
 * Reads a chat completion request: validates what the gateway relies on, and extracts what prices
 * the call.
 */
import { z } from 'zod';
import { operations } from '../../apis.ts';
import { parsedValue } from '../../bytes/json/scan/body.ts';
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { measureChat } from '../../dialects/openai/prompt-size.ts';
import { GatewayError } from '../../errors.ts';
import { checkExtraBody, refuseOtherBounds } from '../extra-body.ts';
import { arrayMember, checkedFields, fieldOf, hintOf, readObject } from '../fields.ts';
import { guardedUses } from '../find-guarded.ts';
import { modelField, positiveField } from '../rules.ts';

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
  // A hint, which only the upstream validates.
  prompt_cache_key: z.unknown().optional(),
});

/** @throws GatewayError `invalid_request` that names the member */
export function readChat(tape: Tape): Call {
  const { read, tools, prediction } = membersIn(tape);
  const fields = checkedFields(chatFields, read);
  const { max_tokens: old, max_completion_tokens: current } = fields;
  const bound = current ?? old ?? undefined;
  if (bound !== undefined) refuseOtherBounds(tape);
  checkExtraBody(tape, {
    members: {
      model: fields.model,
      messages: null,
      stream: fields.stream ?? false,
      n: fields.n ?? 1,
    },
    bound,
  });
  if (tools !== none && !['array', 'null'].includes(tape.kind(tools))) {
    throw new GatewayError('invalid_request', '`tools` must be an array.', { param: 'tools' });
  }
  arrayMember(tape, 'messages', 'Send the conversation, oldest message first.');
  const { size: prompt, hasRoles } = measureChat(tape);
  if (!hasRoles) throw noRole();
  return {
    protocol: 'chat',
    operation: operations.content,
    modelId: fields.model,
    framing: fields.stream === true ? 'sse' : 'json',
    body: tape.body,
    tape,
    promptCacheKey: hintOf(fields.prompt_cache_key),
    wantsUsage: fields.stream_options?.include_usage === true,
    demand: {
      prompt,
      predictedBytes: prediction === none ? 0 : tape.length(prediction),
      maxOutputTokens: bound,
      candidates: fields.n ?? 1,
      size: undefined,
      quality: undefined,
      guarded: guardedUses(tape, prompt.media),
    },
  };
}

function membersIn(tape: Tape): {
  readonly read: { readonly [Name in keyof ChatFields]-?: unknown };
  readonly tools: Value;
  readonly prediction: Value;
} {
  let tools = none;
  let prediction = none;
  const read: { -readonly [Name in keyof ChatFields]-?: unknown } = {
    model: undefined,
    stream: undefined,
    stream_options: undefined,
    temperature: undefined,
    max_tokens: undefined,
    max_completion_tokens: undefined,
    n: undefined,
    prompt_cache_key: undefined,
  };
  const end = tape.after(root);
  for (let value = tape.first(root); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    switch (name) {
      case 'stream_options':
        read.stream_options = readObject(tape, value, (options) => ({
          include_usage: fieldOf(tape, 'include_usage', options),
        }));
        break;
      case 'model':
      case 'stream':
      case 'temperature':
      case 'max_tokens':
      case 'max_completion_tokens':
      case 'n':
      case 'prompt_cache_key':
        read[name] = parsedValue(tape, value);
        break;
      case 'tools':
        tools = value;
        break;
      case 'prediction':
        prediction = value;
        break;
      default:
    }
  }
  return { read, tools, prediction };
}

function noRole(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'Every element of `messages` must be an object with a string `role`.',
    { param: 'messages' },
  );
}
