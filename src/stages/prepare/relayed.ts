/**
 * Prepares a call for an upstream that speaks the caller's dialect. The caller's bytes are sent
 * with a few members edited. The reply is passed on byte for byte, except for what the tap must
 * change: usage that the caller did not request, errors inside a stream, and framing.
 */
import { replyParser } from '../../bounded-json.ts';
import { type MemberEdit, spliceMembers } from '../../bytes/body/splice.ts';
import type { Span } from '../../bytes/json/text.ts';
import type { Call, PromptSize } from '../../call.ts';
import type { Dialect } from '../../dialects/dialect.ts';
import { replyTokens } from '../../dialects/taps/document-tokens.ts';
import type { HeaderMap } from '../../http.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import type { ForwardedParts, RelayRules } from '../../protocols/protocol.ts';
import { framingBytes } from '../settle/hold.ts';
import {
  documentIn,
  type Judgement,
  maxBufferedRelayBytes,
  type PreparedRequest,
} from './prepared-call.ts';

export interface MoreEdits {
  readonly extra: readonly MemberEdit[];
  readonly cuts: readonly Span[];
  readonly forwarded: ForwardedParts | undefined;
  /** Those of the added bytes that the demand of the call counts already. */
  readonly countedBytes: number;
  readonly notes: HeaderMap;
}

export interface RelayInput {
  readonly call: Call;
  readonly rules: RelayRules;
  readonly dialect: Dialect;
  readonly channel: Channel;
  readonly upstreamModel: string;
  readonly requestId: string;
  /** Path and query below the channel's base URL. */
  readonly path: string;
}

export function prepareRelayed(input: RelayInput, more?: MoreEdits): PreparedRequest {
  const { call, rules, dialect, channel, upstreamModel, requestId, path } = input;
  const ownEdits = rules.edits(call, upstreamModel, channel);
  const edits = more === undefined ? ownEdits : [...ownEdits, ...more.extra];
  const body = spliceMembers(call.tape, edits, more?.cuts);
  return {
    dialect,
    streamContentType: dialect.streams.contentType,
    path: more?.forwarded === undefined ? path : path + more.forwarded.search,
    headers: more?.forwarded?.headers,
    framing: call.framing,
    body,
    prompt: grownPromptSize(call, body, more === undefined ? 0 : more.countedBytes),
    notes: more === undefined ? {} : more.notes,
    maxBufferedBytes: maxBufferedRelayBytes,
    canTapDocument: call.framing === 'json_array',
    tap: () => rules.tap(call, channel, requestId),
    judge: (bytes) => judge(bytes, input),
    replyToRefusal: () => undefined,
    callerParam: sameName,
  };
}

function sameName(param: string): string {
  return param;
}

/** The size of the edited body, if the edits added more than the hold allows for. */
function grownPromptSize(
  { body, demand }: Call,
  pieces: readonly Uint8Array[],
  countedBytes: number,
): PromptSize | undefined {
  // The edits of an embedding call only replace model names, at most one for each input.
  if (demand.prompt.inputs !== undefined) return undefined;
  let growth = -body.byteLength - countedBytes;
  for (const { length } of pieces) growth += length;
  const { prompt } = demand;
  return growth <= framingBytes ? undefined : { ...prompt, textBytes: prompt.textBytes + growth };
}

const noTokens = (): number => 0;

function judge(bytes: Uint8Array, { call, rules, dialect, channel }: RelayInput): Judgement {
  const inBandFailure = rules.inBandFailure ?? dialect.inBandFailure;
  const found = documentIn(bytes, { inBandFailure }, replyParser(channel));
  if (found.kind !== 'document') return found;
  if (call.framing === 'sse') return { kind: 'bad', reason: 'upstream_protocol_error' };
  // A document that is not the expected kind of reply is refused, because it could contain
  // anything.
  const reason = rules.invalidReplyReason(found.reply, call);
  if (reason !== undefined) {
    return rules.stillRuns?.(found.reply) === true
      ? { kind: 'bad', reason: 'upstream_still_running', stillRuns: true }
      : { kind: 'bad', reason, ...(call.operation.hasOutputTokens ? {} : { countedTokens: 0 }) };
  }
  if (rules.remarks !== undefined) {
    const usage = rules.readUsage(found.reply, channel, noTokens);
    return { kind: 'whole', bytes, usage, ...rules.remarks(found.reply, call, usage) };
  }
  const counted = (): number => replyTokens(found.reply);
  const usage = rules.readUsage(found.reply, channel, counted);
  const countedTokens = usage?.outputTokens ? undefined : counted();
  const referable = rules.referable?.(found.reply);
  return { kind: 'whole', bytes, usage, countedTokens, referable };
}
