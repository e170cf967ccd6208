/**
 * A call prepared for one channel, whether relayed or translated: what is sent upstream, and how
 * the upstream's reply is turned into the caller's.
 */

import type { Framing } from '../../apis.ts';
import { parseBounded } from '../../bounded-json.ts';
import type { ReplyPieces } from '../../bytes/body/paced-reply.ts';
import { asBuffer, startsLikeJson } from '../../bytes/decode.ts';
import type { PromptSize } from '../../call.ts';
import type { Dialect } from '../../dialects/dialect.ts';
import { documentTokens } from '../../dialects/taps/document-tokens.ts';
import type { FailureReport, ReferableReply, StreamTap } from '../../dialects/taps/tap.ts';
import { GatewayError } from '../../errors.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { HeaderMap } from '../../http.ts';
import type { JsonValue } from '../../json.ts';
import type { Usage } from '../../money.ts';
import type { MaybePromise } from '../../ports/call-options.ts';

/** Either a prepared call to send, or a reply that needs no upstream. */
export type Prepared = PreparedCall | WholeReply;

export type PreparedCall = PreparedRequest | PreparedSeries;

interface PreparedBase {
  readonly dialect: Pick<Dialect, 'readFailure'>;
  /** Path and query below the channel's base URL. */
  readonly path: string;
  /** Headers of the caller to send; they replace those of the channel. Mostly undefined. */
  readonly headers?: HeaderMap | undefined;
  /** The framing that was requested from the upstream. */
  readonly framing: Framing;
  readonly body: readonly Uint8Array[];
  /** The size of the body; undefined if it can't be larger than what the caller's hold covers. */
  readonly prompt: PromptSize | undefined;
  /** Headers with notes for the caller. */
  readonly notes: HeaderMap;
  /** Google's callers expect a blocked prompt as a reply, not as an error. */
  replyToRefusal(refusal: FailureReport): WholeReply | undefined;
  readonly callerParam?: CallerParam | undefined;
}

/**
 * The caller's name of a member of the sent body, which the upstream names in an error; undefined
 * if the caller's body has no such member. Without this function errors name no member: a path such
 * as `messages[3].content` would mean nothing, or something else, in the caller's API.
 */
export type CallerParam = (param: string) => string | undefined;

export interface PreparedRequest extends PreparedBase {
  readonly series?: undefined;
  /** The prefix of a streamed reply's content type. */
  readonly streamContentType: string;
  readonly maxBufferedBytes: number;
  /** True if the tap can read a document where a stream was requested. */
  readonly canTapDocument: boolean;
  /** If undefined, streamed replies and documents too large to buffer are refused. */
  readonly tap: (() => StreamTap) | undefined;
  /** The tap works on each byte, so that the reply is read in several turns of the event loop. */
  readonly isComputed?: true;
  judge(bytes: Uint8Array): MaybePromise<Judgement>;
}

/** `body` is that of the first request. No reply is used before all have arrived. */
export interface PreparedSeries extends PreparedBase {
  readonly series: () => RequestSeries;
}

export interface RequestSeries {
  readonly isSplit: boolean;
  /** Starts to read a reply to the current request, which may be sent again if its reply fails. */
  read(): SeriesReader;
  next(): readonly Uint8Array[] | undefined;
  /** What the requests so far have used; undefined until the first has a reply. */
  used(): Usage | undefined;
  /** The same, with an estimate for the request that was sent last if it has no reply. */
  sent(): Usage;
  /** The reply of the call, once all requests have one. */
  reply(): WholeReply | MadeReply;
}

export interface SeriesReader {
  write(chunk: Uint8Array): void;
  end(): FailedReply | BadReply | undefined;
}

export type Judgement = WholeReply | FailedReply | BadReply;

/** A whole, checked reply as the caller gets it. */
export interface WholeReply {
  readonly kind: 'whole';
  readonly bytes: Uint8Array;
  readonly usage: Usage | undefined;
  /** Tokens counted in the content, if they can't be counted in `bytes` and are needed. */
  readonly countedTokens?: number | undefined;
  /**
   * For a refusal that the caller gets as a reply: `not_run`, or `failed` if an earlier attempt may
   * have run.
   */
  readonly ending?: 'not_run' | 'failed';
  /** Replaces the notes of the prepared call, if the reply adds more. */
  readonly notes?: HeaderMap;
  /** A remark for the usage record of a reply that is complete nevertheless. */
  readonly reason?: FailureReason | undefined;
  /** What later requests may refer to; undefined in APIs whose requests refer to nothing. */
  readonly referable?: ReferableReply | undefined;
}

/** A whole, checked reply that is too large to be made before it is sent. */
export interface MadeReply {
  readonly kind: 'made';
  /** Makes the pieces; each call starts again with the first one. */
  pieces(): ReplyPieces;
  readonly usage: Usage;
  readonly notes: HeaderMap;
}

/** An error response, or an error in the body of a 200 response. */
export interface FailedReply {
  readonly kind: 'failure';
  readonly report: FailureReport;
}

/** A 2xx response that is no valid reply. It may have cost something, so the usage is kept. */
export interface BadReply {
  readonly kind: 'bad';
  readonly reason: FailureReason;
  readonly countedTokens?: number | undefined;
  readonly usage?: Usage | undefined;
  readonly stillRuns?: true;
  /** It ended before it had any content, as does the page of another server. */
  readonly endedBeforeContent?: true;
}

export const maxBufferedRelayBytes: number = 64 * 1024;

export const maxBufferedTranslationBytes: number = 32 * 1024 * 1024;

/** @param parse `parseBoundedExactly` if numbers of the document are passed on to the caller */
export function documentIn(
  bytes: Uint8Array,
  { inBandFailure }: Pick<Dialect, 'inBandFailure'>,
  parse: (text: string) => JsonValue | undefined = parseBounded,
): { readonly kind: 'document'; readonly reply: JsonValue } | FailedReply | BadReply {
  const reply = parse(asBuffer(bytes).toString('utf8'));
  if (reply === undefined) return unreadableReply(bytes);
  const report = inBandFailure(reply);
  return report === undefined ? { kind: 'document', reply } : { kind: 'failure', report };
}

export function unreadableReply(bytes: Uint8Array): BadReply {
  if (bytes.length === 0) return { kind: 'bad', reason: 'upstream_empty', countedTokens: 0 };
  const countedTokens = documentTokens(bytes);
  if (startsLikeJson(bytes)) return { kind: 'bad', reason: 'upstream_truncated', countedTokens };
  const page: BadReply = { kind: 'bad', reason: 'upstream_protocol_error', countedTokens };
  return countedTokens === 0 ? { ...page, endedBeforeContent: true } : page;
}

/**
 * The failure of a reply without content so far. Output that was billed is charged by the tap's
 * usage. Any other failure costs nothing, even if usage came before it: Anthropic states some at
 * the start of every message.
 */
export function tapFailure(tap: StreamTap): FailedReply | BadReply | undefined {
  const report = tap.failure();
  if (report === undefined) return undefined;
  if (report.isBilled !== true) return { kind: 'failure', report };
  return { kind: 'bad', reason: report.reason ?? 'upstream_failed', usage: tap.usage() };
}

/** Node accepts 16 KB of headers in all, and other headers need their share. */
const maxListBytes = 4_096;
/** Reserved for the last entry, which says how many names follow. */
const lastEntryBytes = 24;
const maxNameLength = 128;

/**
 * `x-tollgate-dropped`: the members that were left out, truncated or replaced, by the caller's
 * names.
 *
 * @param unasked the names that the caller did not ask for, which a strict model drops too
 */
export function droppedNote(
  dropped: readonly string[],
  strict: boolean,
  unasked: ReadonlySet<string> | undefined = undefined,
): HeaderMap {
  if (dropped.length === 0) return {};
  const first = strict ? dropped.find((name) => unasked?.has(name) !== true) : undefined;
  if (first !== undefined) {
    throw new GatewayError(
      'not_portable',
      `The upstream of this model has no counterpart for \`${plainName(first)}\`, and the model ` +
        'is strict. Leave it out.',
      { param: plainName(first) },
    );
  }
  const names = [...new Set(dropped.map(plainName))].filter((name) => name !== '');
  return { 'x-tollgate-dropped': joinedNames(names) };
}

/** All names, or as many as fit, followed by `+12 more`. */
function joinedNames(names: readonly string[]): string {
  const whole = names.join(',');
  if (whole.length <= maxListBytes) return whole;
  let list = '';
  for (const [index, name] of names.entries()) {
    const longer = index === 0 ? name : `${list},${name}`;
    if (longer.length > maxListBytes - lastEntryBytes)
      return `${list},+${names.length - index} more`;
    list = longer;
  }
  return list;
}

export function estimatedNote(names: string): HeaderMap {
  return { 'x-tollgate-estimated': names };
}

/** Removes from a member's name what a header must not contain. */
function plainName(name: string): string {
  return name.replace(/[^\w.:[\]-]/g, '').slice(0, maxNameLength);
}
