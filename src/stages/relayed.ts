/**
 * A call to an upstream of the caller's own dialect: the caller's bytes with a few members edited,
 * and the reply byte for byte but for what ARCHITECTURE B names.
 */
import { spliceMembers } from '../bytes/body/splice.ts';
import type { Call, PromptSize } from '../call.ts';
import { documentTokens } from '../dialects/content-count.ts';
import { type Dialect, upstreamPath } from '../dialects/dialect.ts';
import type { Channel } from '../ports/catalog.ts';
import type { RelayRules } from '../protocols/protocol.ts';
import { framingBytes } from './hold.ts';
import { documentIn, heldRelayBytes, type Judgement, type PreparedCall } from './prepared-call.ts';

/** The exchange of a call that is relayed. */
export function relayed(
  call: Call,
  rules: RelayRules,
  dialect: Dialect,
  channel: Channel,
  upstreamModel: string,
): PreparedCall {
  const body = spliceMembers(call.body, call.members, rules.edits(call, upstreamModel, channel));
  return {
    upstream: dialect,
    streamType: dialect.streams.contentType,
    path: upstreamPath(dialect, call, upstreamModel),
    framing: call.framing,
    body,
    prompt: grown(call, body),
    notes: {},
    heldBytes: heldRelayBytes,
    takesDocumentAsStream: call.framing === 'json_array',
    tap: () => rules.tap(call, channel),
    judge: (bytes) => judge(bytes, call, { rules, dialect, channel }),
    answerTo: () => undefined,
  };
}

/** The size of a body that the edits have made larger than its hold has room for. */
function grown({ body, demand }: Call, pieces: readonly Uint8Array[]): PromptSize | undefined {
  let growth = -body.byteLength;
  for (const { length } of pieces) growth += length;
  const { prompt } = demand;
  return growth <= framingBytes ? undefined : { ...prompt, textBytes: prompt.textBytes + growth };
}

/** Whose reply is judged, and for whom. */
interface RelayEnds {
  readonly rules: RelayRules;
  readonly dialect: Dialect;
  readonly channel: Channel;
}

/** A held reply: is it whole, is it an error, is it empty? */
function judge(bytes: Uint8Array, call: Call, { rules, dialect, channel }: RelayEnds): Judgement {
  const found = documentIn(bytes, dialect);
  if (found.kind !== 'document') return found;
  if (call.framing === 'sse') return { kind: 'bad', reason: 'upstream_protocol_error' };
  // What is no reply of its kind is no answer, whatever it says: it could say anything.
  const reason = rules.faultIn(found.reply, call);
  if (reason !== undefined) return { kind: 'bad', reason };
  const counted = (): number => documentTokens(bytes) + rules.partTokens(found.reply);
  const usage = rules.readUsage(found.reply, channel, counted);
  return usage?.outputTokens
    ? { kind: 'whole', bytes, usage }
    : { kind: 'whole', bytes, usage, countedTokens: counted() };
}
