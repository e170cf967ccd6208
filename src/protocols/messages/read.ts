/**
 * Reads a Messages request: validates what the gateway relies on and extracts what prices the call.
 * All else is for the upstream to judge, because the bounds of the other members differ by model.
 */
import { z } from 'zod';
import { operations } from '../../apis.ts';
import { none, root, type Tape } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { measureMessages } from '../../dialects/anthropic/prompt-size.ts';
import { invalidRequest } from '../../errors.ts';
import { isJsonObject } from '../../json.ts';
import { checkExtraBody, refuseOtherBounds } from '../extra-body.ts';
import { arrayMember, blankFields, checkedFields, fieldOf, fieldsIn } from '../fields.ts';
import type { CallTarget } from '../protocol.ts';
import { flagField, modelField, newCall } from '../rules.ts';

const boundMessage = 'must be an integer of at least 0: the maximum number of tokens to generate';

const messagesFields = z.object({
  model: modelField,
  stream: flagField,
  // 0 fills the prompt cache and generates nothing.
  max_tokens: z.int(boundMessage).nonnegative(boundMessage).nullish(),
});

type MessagesFields = z.infer<typeof messagesFields>;
const blank = blankFields(messagesFields);

export function readMessages(tape: Tape, { operation }: CallTarget): Call {
  const fields = checkedFields(messagesFields, fieldsIn(tape, blank));
  const isCount = operation === operations.count_tokens;
  const bound = fields.max_tokens ?? undefined;
  if (bound === undefined && !isCount) throw invalidRequest(noBound, 'max_tokens');
  checkBounds(tape, fields);
  checkSystem(tape);
  checkTools(tape);
  checkFallbacks(tape);
  arrayMember(tape, 'messages', 'Send the conversation, oldest message first.');
  const { size: prompt, hasRoles } = measureMessages(tape);
  if (!hasRoles) throw invalidRequest(noRole, 'messages');
  return newCall(tape, {
    protocol: 'messages',
    operation,
    modelId: fields.model,
    framing: fields.stream === true && !isCount ? 'sse' : 'json',
    prompt,
    maxOutputTokens: bound,
  });
}

const noBound = '`max_tokens` is missing. Send the maximum number of tokens to generate.';
const noRole = 'Every element of `messages` must be an object with a string `role`.';

/** Refuses a different value of a checked member in another place, or under another name. */
function checkBounds(tape: Tape, { model, stream, max_tokens }: MessagesFields): void {
  const bound = max_tokens ?? undefined;
  if (bound !== undefined) refuseOtherBounds(tape);
  // The prompt outside of `extra_body` is the one that is measured.
  const members = { model, messages: null, system: null, stream: stream ?? false };
  checkExtraBody(tape, { members, bound });
}

function checkSystem(tape: Tape): void {
  const system = tape.get(root, 'system');
  if (system === none || ['string', 'array', 'null'].includes(tape.kind(system))) return;
  throw invalidRequest('`system` must be a string or an array of text blocks.', 'system');
}

function checkTools(tape: Tape): void {
  const tools = tape.present(root, 'tools');
  if (tools === none) return;
  if (!tape.isArray(tools)) throw invalidRequest('`tools` must be an array of objects.', 'tools');
  const end = tape.after(tools);
  let index = 0;
  for (let tool = tape.first(tools); tool < end; tool = tape.after(tool)) {
    const at = `tools[${index}]`;
    if (!tape.isObject(tool)) throw invalidRequest(`\`${at}\` must be an object.`, at);
    index += 1;
  }
}

/**
 * The settings of a fallback would price or bound its call in another way than the request does.
 * Its model is checked with the other members that reach beyond the call.
 */
function checkFallbacks(tape: Tape): void {
  const fallbacks = fieldOf(tape, 'fallbacks');
  if (isJsonObject(fallbacks)) throw invalidRequest('`fallbacks` must be an array.', 'fallbacks');
  if (!Array.isArray(fallbacks)) return;
  for (const [index, fallback] of fallbacks.entries()) {
    const at = `fallbacks[${index}]`;
    if (!isJsonObject(fallback)) throw invalidRequest(`\`${at}\` must be an object.`, at);
    const other = Object.keys(fallback).find((name) => name !== 'model');
    if (other === undefined) continue;
    throw invalidRequest(
      `This gateway serves fallbacks with the settings of the request. Leave \`${other}\` out.`,
      `${at}.${other}`,
    );
  }
}
