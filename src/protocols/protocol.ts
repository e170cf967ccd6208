/**
 * The description of an API that the gateway serves: one folder, and one row in `table.ts`. Stages
 * read the row; none of them checks a protocol's name.
 */

import type { ApiCalls, Framing, Operation } from '../apis.ts';
import type { MemberEdit } from '../bytes/body/splice.ts';
import type { Tape } from '../bytes/json/tape.ts';
import type { Span } from '../bytes/json/text.ts';
import type { Call } from '../call.ts';
import { capabilitiesOf } from '../dialects/capabilities.ts';
import type { ContentServerCodec, ImageRequest } from '../dialects/codec.ts';
import type { Dialect, ErrorWriter, ImageCounter } from '../dialects/dialect.ts';
import type { EmbeddingServerCodec } from '../dialects/embedding-codec.ts';
import type { FailureReport, ReferableReply, StreamTap } from '../dialects/taps/tap.ts';
import type { GatewayError } from '../errors.ts';
import type { FailureReason } from '../failure-reasons.ts';
import type { GatewayRequest, HeaderMap, IncomingHeaders } from '../http.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { CostMember, Usage } from '../money.ts';
import type { Channel, Model, ProtocolName } from '../ports/models/catalog.ts';

export interface KeySettings {
  readonly nativeKeyHeaders: readonly string[];
  readonly allowQueryKey: boolean;
}

export interface PathSettings {
  /** `pass`: paths of provider APIs that are not served are left to the host. */
  readonly unserved: 'refuse' | 'pass';
  /** Serves `GET /v1/key`. */
  readonly ownerRoutes: boolean;
  /** Serves the paths of Azure's clients too. */
  readonly azurePaths: boolean;
}

export interface BodyDefaults {
  readonly defaultImageModel?: string | undefined;
}

/** The clients of one provider: where they send the key, and their formats. */
export interface Caller {
  readonly name: string;
  readonly errors: ErrorWriter;
  /** The headers that may carry a key, in lower case. */
  keyHeaders(settings: KeySettings): readonly string[];
  /** The key of a request; undefined if there is none, or more than one. */
  secretOf(request: GatewayRequest, settings: KeySettings): string | undefined;
  /** For the message of a 401, which puts it between backticks: `Authorization: Bearer <key>`. */
  keyExample(settings: KeySettings): string;
  readonly models: ModelLists;
  /** The status of an error, where these clients expect another one than the code's. */
  statusOf?(error: GatewayError): number | undefined;
  /** The header in which these clients look for the request's id, in addition to `x-request-id`. */
  readonly requestIdHeader?: string;
  /** Writes what remains of rate limits; undefined if the provider has no headers for it. */
  readonly rateHeaders: ((states: RateStates, nowMs: number) => HeaderMap) | undefined;
}

/** The limits of calls and of tokens that are nearest to refusing; undefined if there is none. */
export interface RateStates {
  readonly calls: RateState | undefined;
  readonly tokens: RateState | undefined;
}

/** A rate limit, how much of it remains, and the time until all of it is available again. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

export interface ModelLists {
  readonly request: string;
  /**
   * Writes one page of the list. The clients' formats require a date: models without
   * `createdAtSeconds` have 0, which is 1970-01-01, in every process and after each restart.
   */
  list(models: readonly Model[], search: string): JsonObject;
  one(model: Model): JsonObject;
  /** The message for an unknown model, where clients know one by its wording. */
  unknown?(modelId: string): string;
}

export interface Protocol extends ApiCalls {
  readonly name: ProtocolName;
  readonly caller: Caller;
  /** Calls to upstreams of this dialect are relayed; calls to all others are translated. */
  readonly dialect: string;
  /**
   * A capability without which an upstream of that dialect does not serve this API itself, so that
   * its calls are translated too. Absent if every upstream serves it.
   */
  readonly relayCapability?: 'responses';
  /** Where callers read and delete replies that a provider has stored; absent if they can't. */
  readonly storedReplies?: StoredReplies;
  maxBodyBytes(settings: {
    readonly maxBodyBytes: number;
    readonly maxImageBodyBytes: number;
  }): number;
  /** If false, `Idempotency-Key` is ignored. */
  readonly takesIdempotencyKey: boolean;
  /**
   * The members that limit the length of a reply, the usual one first; empty if there is none. A
   * member inside another one has its path: `generationConfig.maxOutputTokens`.
   */
  readonly outputLimits: readonly string[];
  /** The member for the number of completions, and its maximum if the model states none. */
  readonly candidates: { readonly member: string; readonly maximum: number };
  /**
   * Tools that clients declare by default, whether or not they are needed. If the price of a model
   * does not cover them, a call that can do without them is sent without them.
   */
  readonly optionalTools?: readonly CostMember[];
  /**
   * The member of a tool that bounds how often the provider calls it. A tool without it is refused
   * on models whose price states no number of calls. Absent in APIs that have none.
   */
  readonly toolBound?: string;
  /**
   * The session that a request names, for channels that keep sessions; undefined if it names none.
   * Absent in APIs whose clients name no sessions.
   */
  sessionOf?(call: Call, headers: IncomingHeaders): string | undefined;
  /** Checks the headers that are forwarded with a relayed call; absent if none are. */
  checkHeaders?(headers: IncomingHeaders): void;
  read(tape: Tape, target: CallTarget, defaults: BodyDefaults): Call;
  readonly relay: RelayRules;
  codecs(): Promise<ProtocolCodecs>;
  /** Counts the images in a reply. Absent in APIs whose replies have none or state their number. */
  readonly imageCounter?: (framing: Framing) => ImageCounter;
  /**
   * The bytes that keep the connection of a silent stream alive; undefined if its clients accept
   * none. Absent in APIs without streams. `isFirst`: nothing of the reply has been sent yet.
   */
  keepAlive?(framing: Framing, isFirst: boolean): string | undefined;
}

/** The caller's side of translations. What the protocol does not have is absent. */
export interface ProtocolCodecs {
  readonly content?: ContentServerCodec;
  readonly images?: (body: JsonObject) => ImageRequest;
  readonly embeddings?: EmbeddingServerCodec;
  /** Writes a token count, and names its member for the note that marks an estimate. */
  readonly countTokens?: TokenCountCodec;
}

export interface TokenCountCodec {
  readonly member: string;
  write(count: number): string;
}

/** The paths of replies that the provider of a relayed call has stored. */
export interface StoredReplies {
  /** The path above the ids: `/v1/responses`. */
  readonly folder: string;
  /** The same below the base URL of an upstream: `/responses`. */
  readonly upstreamFolder: string;
  /** What can be read below a reply: `input_items`. */
  readonly parts: readonly string[];
  /** The parameters of the query that are passed on. */
  readonly parameters: readonly string[];
  /** Checks the query of a reading request. */
  checkQuery(query: URLSearchParams, part: string | undefined): void;
  /** Whether the gateway made an id, for a translated reply. */
  isOwn(id: string): boolean;
  /** The document that says that a reply was deleted. */
  deleted(id: string): JsonObject;
}

export interface StoredReplyTarget {
  /** Not checked yet. */
  readonly id: string;
  readonly part: string | undefined;
}

export interface StoredReplyRoute extends StoredReplyTarget {
  readonly kind: 'stored_reply';
  readonly caller: Caller;
  readonly protocol: Protocol;
  readonly replies: StoredReplies;
}

export interface CallTarget {
  readonly operation: Operation;
  /** The model, if the path names it; otherwise it is in the body. */
  readonly modelId: string | undefined;
  readonly framing: Framing;
}

export type RequestParts = Pick<GatewayRequest, 'headers' | 'search'>;

/** The limits in a model's record that bound the hold and the charge. */
export type ModelLimits = Pick<Model, 'contextTokens' | 'maxOutputTokens'>;

export interface ForwardedParts {
  /** They replace those that the channel sends. */
  readonly headers: HeaderMap;
  /** The query, with its question mark; empty if there is none. */
  readonly search: string;
  /** What was left out, as `x-tollgate-dropped` lists it: `anthropic-beta:some-flag`. */
  readonly dropped: readonly string[];
}

export interface RelayCuts {
  /** In order, in the text of the body. */
  readonly spans: readonly Span[];
  /** Their paths: `messages[1].content[0]`. */
  readonly changed: readonly string[];
}

export interface RelayRules {
  /**
   * The paths of operations below the base URL, where they are not those of the dialect:
   * `/responses`.
   */
  readonly paths?: Dialect['paths'];
  edits(call: Call, upstreamModel: string, channel: Channel): readonly MemberEdit[];
  /**
   * The parts of a body that the upstream could not read, such as reasoning of another provider.
   * Absent in APIs whose requests have none.
   */
  cuts?(call: Call): RelayCuts | undefined;
  /** What is sent upstream besides the body. Absent in APIs that send only the body. */
  forward?(request: RequestParts, channel: Channel, limits: ModelLimits): ForwardedParts;
  /** Creates a tap for a reply. `requestId` names the call in an error that ends it. */
  tap(call: Call, channel: Pick<Channel, 'capabilities' | 'cost'>, requestId: string): StreamTap;
  /**
   * Reads an error inside a 2xx document, where those of this API differ from the dialect's;
   * undefined if there is none.
   */
  readonly inBandFailure?: Dialect['inBandFailure'];
  invalidReplyReason(reply: JsonValue, call: Pick<Call, 'operation'>): FailureReason | undefined;
  /**
   * Whether a document that is no valid reply says that the call still runs. Absent in APIs whose
   * upstreams have no calls in the background.
   */
  stillRuns?(reply: JsonValue): boolean;
  /**
   * The usage in a whole reply; undefined if it is missing or implausible. `counted` counts the
   * tokens of the content, for what the usage leaves open.
   */
  readUsage(
    reply: JsonValue,
    channel: Pick<Channel, 'capabilities'>,
    counted: () => number,
  ): Usage | undefined;
  /**
   * Repairs a reply that is not in the format that the call requested. Absent in APIs whose
   * upstreams keep to the format.
   */
  repair?(call: Call, channel: Pick<Channel, 'capabilities'>): ReplyRepair;
  /**
   * Remarks on a whole reply that is passed on unchanged. Absent in APIs that have none.
   */
  remarks?(reply: JsonValue, call: Call, usage: Usage | undefined): ReplyRemarks;
  /**
   * Whether an upstream refused a call because it can't read encrypted content in it. Absent in
   * APIs whose requests have none.
   */
  refusesSealed?(refusal: FailureReport): boolean;
  /**
   * What later requests may refer to in a whole reply. Absent in APIs whose requests refer to
   * nothing.
   */
  referable?(reply: JsonValue): ReferableReply | undefined;
  /** Whether the provider may keep the reply to this call. Absent in APIs that keep none. */
  mayBeStored?(call: Call): boolean;
}

export interface ReplyRemarks {
  /** For the usage record. */
  readonly reason: FailureReason | undefined;
  /** Headers for the caller. */
  readonly notes: HeaderMap;
}

export interface ReplyRepair {
  write(chunk: Uint8Array): Uint8Array;
  /** A part had another format than the channel's capabilities say. */
  hasRepaired(): boolean;
  /** The reply contains something that can't be converted. */
  isUnusable(): boolean;
}

export interface CallRoute extends CallTarget {
  readonly kind: 'call';
  readonly caller: Caller;
  readonly protocol: Protocol;
  readonly alsoFor?: readonly ProtocolName[] | undefined;
}

export type Route =
  | CallRoute
  | StoredReplyRoute
  | {
      readonly kind: 'models';
      readonly caller: Caller;
      readonly protocols: readonly ProtocolName[];
      /** One model, or the list. */
      readonly modelId: string | undefined;
    }
  /** The key's own limits and usage; and the root, where people look whether the gateway runs. */
  | { readonly kind: 'key'; readonly caller: Caller }
  | { readonly kind: 'root'; readonly caller: Caller; readonly served: string }
  | { readonly kind: 'options'; readonly caller: Caller; readonly allow: string }
  | {
      readonly kind: 'refused';
      readonly caller: Caller;
      readonly error: GatewayError;
      /** The path as the tables of known paths have it; undefined if they don't. */
      readonly path: string | undefined;
    };

export function isRelayed(
  { dialect: ownDialect, relayCapability }: Protocol,
  dialect: Dialect,
  { capabilities: own }: Pick<Channel, 'capabilities'>,
  upstreamModel: string,
): boolean {
  if (ownDialect !== dialect.name) return false;
  return (
    relayCapability === undefined ||
    capabilitiesOf(dialect.capabilities, upstreamModel, own)[relayCapability]
  );
}

/** Whether an upstream of this dialect can serve a protocol, relayed or translated. */
export function isServed(protocol: Protocol, dialect: Dialect | undefined): boolean {
  return dialect?.paths[protocol.operation.name] !== undefined;
}
