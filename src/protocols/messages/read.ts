/**
 * Reads a Messages request: validates what the gateway relies on and extracts what prices the call.
 * All else is for the upstream to judge, because the bounds of the other members differ by model.
 */
import { z } from 'zod';
import { findMember, kindAt } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { ScannedBody, WholeScan } from '../../bytes/json/scan/body.ts';
import { openBrace } from '../../bytes/json/text.ts';
import { type Call, operations } from '../../call.ts';
import { measureMessages } from '../../dialects/anthropic/prompt-size.ts';
import { eachElement } from '../../dialects/prompt-size.ts';
import { GatewayError } from '../../errors.ts';
import { isJsonObject } from '../../json.ts';
import { checkExtraBody, refuseOtherBounds } from '../extra-body.ts';
import { arrayMember, checkedFields, fieldOf } from '../fields.ts';
import { guardedUses } from '../find-guarded.ts';
import type { CallTarget } from '../protocol.ts';
import { modelField } from '../rules.ts';

interface MessagesFields {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly max_tokens?: number | null | undefined;
}

const boundMessage = 'must be an integer of at least 0: the maximum number of tokens to generate';

const messagesFields: z.ZodType<MessagesFields> = z.object({
  model: modelField,
  stream: z.boolean('must be true or false').nullish(),
  // 0 fills the prompt cache and generates nothing.
  max_tokens: z.int(boundMessage).nonnegative(boundMessage).nullish(),
});

/**
 * Reads the request.
 *
 * @throws GatewayError `invalid_request` that names the member
 */
export function readMessages(scanned: WholeScan, { operation }: CallTarget): Call {
  const fields = checkedFields(messagesFields, {
    model: fieldOf(scanned, 'model'),
    stream: fieldOf(scanned, 'stream'),
    max_tokens: fieldOf(scanned, 'max_tokens'),
  });
  const isCount = operation === operations.count_tokens;
  const bound = fields.max_tokens ?? undefined;
  if (bound === undefined && !isCount) throw noBound();
  checkBounds(scanned, fields);
  checkSystem(scanned);
  checkTools(scanned);
  checkFallbacks(scanned);
  arrayMember(scanned, 'messages', 'Send the conversation, oldest message first.');
  const { size: prompt, hasRoles } = measureMessages(scanned.body, scanned.members);
  if (!hasRoles) throw noRole();
  return {
    protocol: 'messages',
    operation,
    modelId: fields.model,
    framing: fields.stream === true && !isCount ? 'sse' : 'json',
    body: scanned.body,
    members: scanned.members,
    promptCacheKey: undefined,
    // The last events of a stream always state the usage.
    wantsUsage: true,
    demand: {
      prompt,
      predictedBytes: 0,
      maxOutputTokens: bound,
      candidates: 1,
      size: undefined,
      quality: undefined,
      guarded: guardedUses(scanned, prompt.media),
    },
  };
}

/** Refuses a different value of a checked member in another place, or under another name. */
function checkBounds(scanned: ScannedBody, { model, stream, max_tokens }: MessagesFields): void {
  const bound = max_tokens ?? undefined;
  if (bound !== undefined) refuseOtherBounds(scanned);
  // The prompt outside of `extra_body` is the one that is measured.
  const members = { model, messages: null, system: null, stream: stream ?? false };
  checkExtraBody(scanned, { members, bound });
}

function checkSystem({ body, members }: ScannedBody): void {
  const system = findMember(members, 'system');
  if (system === undefined) return;
  if (['string', 'array', 'null'].includes(kindAt(body.text, system.value))) return;
  throw invalid('`system` must be a string or an array of text blocks.', 'system');
}

function checkTools({ body: { text }, members }: ScannedBody): void {
  const tools = findMember(members, 'tools');
  if (tools === undefined) return;
  const kind = kindAt(text, tools.value);
  if (kind === 'null') return;
  if (kind !== 'array') throw invalid('`tools` must be an array of objects.', 'tools');
  eachElement(text, tools.value.start, (start, index) => {
    if (text[start] === openBrace) return skipValue(text, start);
    throw invalid(`\`tools[${index}]\` must be an object.`, `tools[${index}]`);
  });
}

/**
 * The settings of a fallback would price or bound its call in another way than the request does.
 * Its model is checked with the other members that reach beyond the call.
 */
function checkFallbacks(scanned: ScannedBody): void {
  const fallbacks = fieldOf(scanned, 'fallbacks');
  if (isJsonObject(fallbacks)) throw invalid('`fallbacks` must be an array.', 'fallbacks');
  if (!Array.isArray(fallbacks)) return;
  for (const [index, fallback] of fallbacks.entries()) {
    const at = `fallbacks[${index}]`;
    if (!isJsonObject(fallback)) throw invalid(`\`${at}\` must be an object.`, at);
    const other = Object.keys(fallback).find((name) => name !== 'model');
    if (other === undefined) continue;
    throw invalid(
      `This gateway serves fallbacks with the settings of the request. Leave \`${other}\` out.`,
      `${at}.${other}`,
    );
  }
}

function noBound(): GatewayError {
  return invalid(
    '`max_tokens` is missing. Send the maximum number of tokens to generate.',
    'max_tokens',
  );
}

function noRole(): GatewayError {
  return invalid('Every element of `messages` must be an object with a string `role`.', 'messages');
}

function invalid(message: string, param: string): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}
