/**
 * A call to an upstream of the caller's own dialect: the caller's bytes with a few members edited,
 * and the reply byte for byte but for what ARCHITECTURE B names.
 */
import { spliceMembers } from '../bytes/splice.ts';
import type { Call, PromptSize } from '../call.ts';
import type { CallerDialect, Dialect } from '../dialects/dialect.ts';
import { items, type JsonValue, member } from '../json.ts';
import type { Channel } from '../ports/catalog.ts';
import { documentIn, type Exchange, heldRelayBytes, type Judgement } from './exchange.ts';
import { framingBytes } from './hold.ts';

/** The exchange of a call that is relayed. */
export function relayed(
  call: Call,
  caller: CallerDialect,
  dialect: Dialect,
  channel: Channel,
  upstreamModel: string,
): Exchange {
  const body = spliceMembers(call.body, call.members, caller.edits(call, upstreamModel, channel));
  return {
    upstream: dialect,
    path: dialect.path(call, upstreamModel),
    framing: call.framing,
    body,
    prompt: grown(call, body),
    notes: {},
    heldBytes: heldRelayBytes,
    takesDocumentAsStream: call.framing === 'json_array',
    tap: () => caller.tap(call, channel),
    judge: (bytes) => judge(bytes, call, { caller, dialect, channel }),
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
  readonly caller: CallerDialect;
  readonly dialect: Dialect;
  readonly channel: Channel;
}

/** A held reply: is it whole, is it an error, is it empty? */
function judge(bytes: Uint8Array, call: Call, { caller, dialect, channel }: RelayEnds): Judgement {
  const found = documentIn(bytes, dialect);
  if (found.kind !== 'document') return found;
  if (call.framing === 'sse') return { kind: 'bad', reason: 'upstream_protocol_error' };
  // What is no reply of its kind is no answer, whatever it says: it could say anything.
  if (!caller.isReply(found.reply, call.operation)) {
    return { kind: 'bad', reason: 'upstream_protocol_error' };
  }
  const reason = call.operation === 'images' ? imageFault(found.reply) : undefined;
  if (reason !== undefined) return { kind: 'bad', reason };
  return { kind: 'whole', bytes, usage: caller.readUsage(found.reply, channel) };
}

/** Every image must be Base64: a URL is never fetched and never passed on (ARCHITECTURE N). */
function imageFault(reply: JsonValue): string | undefined {
  const images = items(member(reply, 'data'));
  if (images.length === 0) return 'upstream_empty';
  const base64 = images.every((image) => typeof member(image, 'b64_json') === 'string');
  return base64 ? undefined : 'upstream_image_not_base64';
}
