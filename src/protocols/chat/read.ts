/**
 * Reads a chat completion request: validates what the gateway relies on, and extracts what prices
 * the call.
 */
import { z } from 'zod';
import { operations } from '../../apis.ts';
import { none, root, type Tape } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { measureChat } from '../../dialects/openai/prompt-size.ts';
import { invalidRequest } from '../../errors.ts';
import { checkExtraBody, refuseOtherBounds } from '../extra-body.ts';
import {
  arrayMember,
  blankFields,
  checkedFields,
  fieldOf,
  fieldsIn,
  hintOf,
  readObject,
} from '../fields.ts';
import { flagField, modelField, newCall, positiveField } from '../rules.ts';

const chatFields = z.object({
  model: modelField,
  stream: flagField,
  stream_options: z
    .looseObject({ include_usage: z.unknown().optional() }, 'must be an object')
    .nullish(),
  temperature: z.number('must be a number').nullish(),
  max_tokens: positiveField,
  max_completion_tokens: positiveField,
  n: positiveField,
  // A hint, which only the upstream validates.
  prompt_cache_key: z.unknown().optional(),
});

const blank = blankFields(chatFields);

export function readChat(tape: Tape): Call {
  const read = fieldsIn(tape, blank);
  read.stream_options = readObject(tape, tape.get(root, 'stream_options'), (options) => ({
    include_usage: fieldOf(tape, 'include_usage', options),
  }));
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
  const tools = tape.present(root, 'tools');
  if (tools !== none && !tape.isArray(tools)) {
    throw invalidRequest('`tools` must be an array.', 'tools');
  }
  arrayMember(tape, 'messages', 'Send the conversation, oldest message first.');
  const { size: prompt, hasRoles } = measureChat(tape);
  if (!hasRoles) throw invalidRequest(noRole, 'messages');
  const prediction = tape.get(root, 'prediction');
  return newCall(tape, {
    protocol: 'chat',
    operation: operations.content,
    modelId: fields.model,
    framing: fields.stream === true ? 'sse' : 'json',
    promptCacheKey: hintOf(fields.prompt_cache_key),
    wantsUsage: fields.stream_options?.include_usage === true,
    prompt,
    predictedBytes: prediction === none ? 0 : tape.length(prediction),
    maxOutputTokens: bound,
    candidates: fields.n ?? 1,
  });
}

const noRole = 'Every element of `messages` must be an object with a string `role`.';
