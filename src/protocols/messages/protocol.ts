/** `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's Messages API. */

import { z } from 'zod';
import { apiCalls, operations } from '../../apis.ts';
import { cutElements } from '../../bytes/json/edit-elements.ts';
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Span } from '../../bytes/json/text.ts';
import type { Call } from '../../call.ts';
import { anthropicInBandFailure } from '../../dialects/anthropic/errors.ts';
import { measureMessages } from '../../dialects/anthropic/prompt-size.ts';
import { pingEvent } from '../../dialects/anthropic/stream-events.ts';
import { messagesStreamTap } from '../../dialects/anthropic/stream-tap.ts';
import { messageUsage, usageOfObject } from '../../dialects/anthropic/usage.ts';
import { documentTap } from '../../dialects/taps/document-tap.ts';
import { invalidRequest } from '../../errors.ts';
import type { IncomingHeaders } from '../../http.ts';
import { isJsonObject, type JsonValue, member } from '../../json.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import { anthropicCaller, anthropicVersionHeader } from '../callers/anthropic.ts';
import { isEnvelopeAt, mayHoldEnvelope } from '../envelope-marks.ts';
import { checkExtraBody, refuseOtherBounds } from '../extra-body.ts';
import { arrayMember, blankFields, checkedFields, fieldOf, fieldsIn } from '../fields.ts';
import type {
  CallTarget,
  ForwardedParts,
  ModelLimits,
  Protocol,
  RelayCuts,
  RelayRules,
  RequestParts,
} from '../protocol.ts';
import { flagField, modelEdit, modelField, newCall, sessionHeader } from '../rules.ts';

const betaHeader = 'anthropic-beta';
const defaultVersion = '2023-06-01';
const versionForm = /^\d{4}-\d{2}-\d{2}$/;
const betaForm = /^[A-Za-z0-9._-]{1,64}$/;
const maxBetas = 32;
const maxBetaBytes = 2_048;

function checkMessagesHeaders(headers: IncomingHeaders): void {
  versionIn(headers);
  betasIn(headers);
}

/** A flag that raises a limit: `context-1m-2025-08-07`, `output-128k-2025-02-19`. */
const limitForm = /^(context|output)-(\d+)([km])(?![a-z0-9])/i;

/**
 * What is sent upstream with the body. Beta flags in the channel's own headers replace those of the
 * caller. Flags that the account refuses are left out, and so are those that raise a limit above
 * the one in the model's record: hold and charge end there, and the account would pay for the rest.
 */
function forwardedParts(
  { headers, search }: RequestParts,
  channel: Channel,
  limits: ModelLimits,
): ForwardedParts {
  const wanted = betasIn(headers);
  const own = ownBetas(channel);
  const refused = channel.capabilities?.dropBetas ?? [];
  const sent = own ?? wanted.filter((flag) => !refused.includes(flag) && !exceeds(flag, limits));
  const version = { [anthropicVersionHeader]: versionIn(headers) };
  const hasOwn = own !== undefined || sent.length === 0;
  return {
    headers: hasOwn ? version : { ...version, [betaHeader]: sent.join(',') },
    search: new URLSearchParams(search).get('beta') === 'true' ? '?beta=true' : '',
    dropped: wanted.filter((flag) => !sent.includes(flag)).map((flag) => `${betaHeader}:${flag}`),
  };
}

/** Whether a flag grants more tokens than the record states; a limit that is not stated is none. */
function exceeds(flag: string, { contextTokens, maxOutputTokens }: ModelLimits): boolean {
  const [, kind, count, unit] = limitForm.exec(flag) ?? [];
  if (kind === undefined) return false;
  const stated = kind.toLowerCase() === 'context' ? contextTokens : maxOutputTokens;
  const granted = Number(count) * (unit?.toLowerCase() === 'm' ? 1_000_000 : 1_000);
  return stated !== undefined && granted > stated;
}

function ownBetas({ headers = {} }: Channel): readonly string[] | undefined {
  const own = Object.entries(headers).find(([name]) => name.toLowerCase() === betaHeader);
  return own === undefined ? undefined : flagsIn(own[1]);
}

function versionIn(headers: IncomingHeaders): string {
  const version = headers[anthropicVersionHeader] ?? defaultVersion;
  if (typeof version === 'string' && versionForm.test(version)) return version;
  throw invalidRequest(
    `The header ${anthropicVersionHeader} must be sent once, as a date: ${defaultVersion}.`,
    anthropicVersionHeader,
  );
}

function betasIn(headers: IncomingHeaders): readonly string[] {
  const sent = headers[betaHeader];
  if (sent === undefined) return [];
  const value = typeof sent === 'string' ? sent : sent.join(',');
  const flags = flagsIn(value);
  const isLegal = value.length <= maxBetaBytes && flags.length <= maxBetas;
  if (isLegal && flags.every((flag) => betaForm.test(flag))) return flags;
  throw invalidRequest(
    `The header ${betaHeader} must be a list of at most ${maxBetas} flags and ${maxBetaBytes} ` +
      'bytes, separated by commas, each of 1 to 64 letters, digits, dots, dashes and underscores.',
    betaHeader,
  );
}

function flagsIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((flag) => flag.trim())
    .filter((flag) => flag !== '');
}

const signatureNames: ReadonlyMap<string, string> = new Map([
  ['thinking', 'signature'],
  ['redacted_thinking', 'data'],
]);

/**
 * The thinking blocks of the history that hold an envelope. An assistant message that would be left
 * without any block goes with them. Undefined if there is none.
 */
export function foreignThinking({ tape }: Call): RelayCuts | undefined {
  // Most bodies have none, and need no more than a search.
  if (!mayHoldEnvelope(tape.bytes)) return undefined;
  const changed: string[] = [];
  const inside: Span[] = [];
  const cuts = cutElements(tape, tape.get(root, 'messages'), (message, index) => {
    const blocks = foreignBlocks(tape, message);
    changed.push(...blocks.indices.map((block) => `messages[${index}].content[${block}]`));
    const isEmpty = blocks.indices.length > 0 && blocks.indices.length === blocks.count;
    if (!isEmpty) inside.push(...blocks.cuts);
    return isEmpty;
  });
  const inOrder = [...cuts, ...inside].sort((a, b) => a.start - b.start);
  return changed.length === 0 ? undefined : { spans: inOrder, changed };
}

interface ForeignBlocks {
  readonly cuts: readonly Span[];
  readonly indices: readonly number[];
  /** The number of all its blocks. */
  readonly count: number;
}

function foreignBlocks(tape: Tape, message: Value): ForeignBlocks {
  const isOfModel = tape.shortText(tape.get(message, 'role')) === 'assistant';
  const content = isOfModel ? tape.get(message, 'content') : none;
  const indices: number[] = [];
  const cuts = cutElements(tape, content, (block, index) => {
    const isForeign = hasEnvelope(tape, block);
    if (isForeign) indices.push(index);
    return isForeign;
  });
  return { cuts, indices, count: tape.elements(content).length };
}

function hasEnvelope(tape: Tape, block: Value): boolean {
  const type = tape.shortText(tape.get(block, 'type')) ?? '';
  const signature = tape.get(block, signatureNames.get(type) ?? '');
  return signature !== none && isEnvelopeAt(tape, signature);
}

const messagesRelay: RelayRules = {
  edits: (call, upstreamModel) => modelEdit(call, upstreamModel),
  cuts: foreignThinking,
  forward: forwardedParts,
  tap: (call, _channel, requestId) =>
    call.framing === 'sse'
      ? messagesStreamTap(requestId)
      : documentTap({
          usageMember: 'usage',
          readUsage: usageOfObject,
          inBandFailure: anthropicInBandFailure,
          isImageReply: false,
        }),
  invalidReplyReason: (reply, call) =>
    isReply(reply, call) ? undefined : 'upstream_protocol_error',
  readUsage: (reply, _channel, counted) => messageUsage(reply, counted),
};

function isReply(reply: JsonValue, { operation }: Pick<Call, 'operation'>): boolean {
  if (operation === operations.count_tokens) {
    const count = member(reply, 'input_tokens');
    // Every request has tokens, and a client that trusts a 0 lets its context overflow.
    return typeof count === 'number' && count > 0;
  }
  return Array.isArray(member(reply, 'content'));
}

export const messages: Protocol = {
  name: 'messages',
  caller: anthropicCaller,
  dialect: 'anthropic',
  ...apiCalls.messages,
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  takesIdempotencyKey: true,
  toolBound: 'max_uses',
  // The API has no member for several answers.
  outputLimits: ['max_tokens'],
  candidates: { member: 'n', maximum: 1 },
  sessionOf: messagesSession,
  checkHeaders: checkMessagesHeaders,
  read: readMessages,
  relay: messagesRelay,
  codecs: async () => ({
    content: (await import('../../dialects/anthropic/server/codec.ts')).anthropicServer,
    countTokens: { member: 'input_tokens', write: (count) => `{"input_tokens":${count}}` },
  }),
  // Anthropic sends such events too.
  keepAlive: (framing) => (framing === 'sse' ? pingEvent : undefined),
};

/** Coding agents send it in a header; other clients have only the name of their user. */
function messagesSession(call: Call, headers: IncomingHeaders): string | undefined {
  return sessionHeader(headers, 'x-claude-code-session-id') ?? userId(call);
}

function userId({ tape }: Call): string | undefined {
  const user = tape.get(tape.get(root, 'metadata'), 'user_id');
  return user !== none && tape.isString(user) && tape.length(user) > 2
    ? tape.text(user)
    : undefined;
}

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
