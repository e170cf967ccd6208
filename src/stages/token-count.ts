/**
 * Counts the tokens of a native request whose upstream is no Gemini: asked of the upstream where it
 * has such a call, estimated here and said to be so where it has none.
 */
import { estimateTokens } from '../canonical/estimate-tokens.ts';
import type { TokenCounter } from '../dialects/codec.ts';
import type { CallerDialect } from '../dialects/dialect.ts';
import { GatewayError } from '../errors.ts';
import {
  documentIn,
  type Exchange,
  heldRelayBytes,
  type Judgement,
  type WholeReply,
} from './exchange.ts';
import { droppedNote, estimatedNote } from './notes.ts';
import type { Translation } from './translated.ts';

/**
 * The exchange of a count that an upstream makes.
 *
 * @throws GatewayError `not_portable` as a translated call does
 */
export function countedUpstream(translation: Translation, counter: TokenCounter): Exchange {
  const { call, request, dialect, target, strict } = translation;
  const { text, dropped } = counter.body(request, target);
  return {
    upstream: dialect,
    path: dialect.path(call, target.upstreamModel),
    framing: 'json',
    body: [Buffer.from(text)],
    prompt: undefined,
    notes: droppedNote(dropped, strict),
    heldBytes: heldRelayBytes,
    takesDocumentAsStream: false,
    tap: undefined,
    judge: (bytes) => judge(bytes, translation, counter),
    answerTo: () => undefined,
  };
}

function judge(
  bytes: Uint8Array,
  { caller, dialect }: Translation,
  { read }: TokenCounter,
): Judgement {
  const found = documentIn(bytes, dialect);
  if (found.kind !== 'document') return found;
  const count = read(found.reply);
  if (count === undefined) return { kind: 'bad', reason: 'upstream_protocol_error' };
  return { kind: 'whole', bytes: Buffer.from(textOf(caller, count)), usage: undefined };
}

/** The estimate, which no upstream is asked for. */
export function estimatedCount({ caller, request }: Translation): WholeReply {
  return {
    kind: 'whole',
    bytes: Buffer.from(textOf(caller, estimateTokens(request))),
    usage: undefined,
    notes: estimatedNote('totalTokens'),
  };
}

function textOf({ tokenCountText }: CallerDialect, count: number): string {
  if (tokenCountText !== undefined) return tokenCountText(count);
  throw new GatewayError('not_implemented', 'This protocol does not count tokens.');
}
