/**
 * Counts the tokens of a request for an upstream of another dialect: by the upstream's own endpoint
 * if it has one, else by an estimate that a header marks as such.
 */
import { estimateTokens } from '../../canonical/estimate-tokens.ts';
import type { TokenCounter } from '../../dialects/codec.ts';
import { upstreamPath } from '../../dialects/dialect.ts';
import type { TokenCountCodec } from '../../protocols/protocol.ts';
import { droppedNote, estimatedNote } from './notes.ts';
import {
  documentIn,
  type Judgement,
  maxBufferedRelayBytes,
  type PreparedRequest,
  type WholeReply,
} from './prepared-call.ts';
import type { Translation } from './translated.ts';

/**
 * Prepares a count that the upstream makes.
 *
 * @throws GatewayError `not_portable` that names what this upstream does not support
 */
export function prepareUpstreamCount(
  translation: Translation,
  counter: TokenCounter,
  codec: TokenCountCodec,
): PreparedRequest {
  const { call, caller, dialect, target } = translation;
  const { text, dropped } = counter.body(caller.request, target);
  return {
    dialect,
    streamContentType: dialect.streams.contentType,
    path: upstreamPath(dialect, call, target.upstreamModel),
    framing: 'json',
    body: [Buffer.from(text)],
    prompt: undefined,
    // A strict model refuses such members in the call itself. They do not change the count.
    notes: droppedNote(dropped, false, caller.unasked),
    maxBufferedBytes: maxBufferedRelayBytes,
    canTapDocument: false,
    tap: undefined,
    judge: (bytes) => judge(bytes, translation, counter, codec),
    replyToRefusal: () => undefined,
  };
}

function judge(
  bytes: Uint8Array,
  { dialect }: Translation,
  { read }: TokenCounter,
  codec: TokenCountCodec,
): Judgement {
  const found = documentIn(bytes, dialect);
  if (found.kind !== 'document') return found;
  const count = read(found.reply);
  if (count === undefined) return { kind: 'bad', reason: 'upstream_protocol_error' };
  return { kind: 'whole', bytes: Buffer.from(codec.write(count)), usage: undefined };
}

/** The gateway's own estimate. */
export function estimatedCount({ caller }: Translation, codec: TokenCountCodec): WholeReply {
  return {
    kind: 'whole',
    bytes: Buffer.from(codec.write(estimateTokens(caller.request))),
    usage: undefined,
    notes: estimatedNote(codec.member),
  };
}
