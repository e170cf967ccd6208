/**
 * What the gateway needs to know of an API that it serves: one folder and one row in `table.ts` for
 * each. Stages take the row; none of them knows a protocol by its name.
 */

import type { MemberEdit } from '../bytes/body/splice.ts';
import type { ScannedBody } from '../bytes/json/scan/body.ts';
import type { Call, Framing, Operation } from '../call.ts';
import type { ContentServerCodec } from '../dialects/codec.ts';
import type { Dialect, ErrorWriter, ImageCounter } from '../dialects/dialect.ts';
import type { ImageRequest } from '../dialects/image-codec.ts';
import type { StreamTap } from '../dialects/tap.ts';
import type { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Usage } from '../money.ts';
import type { Channel, Model, ProtocolName } from '../ports/catalog.ts';
import type { ClaimInput } from '../ports/idempotency-store.ts';

/** The options that say where keys may stand. */
export interface KeySettings {
  readonly nativeKeyHeaders: readonly string[];
  readonly allowQueryKey: boolean;
}

/** The options that bound bodies. */
export interface BodySettings {
  readonly maxBodyBytes: number;
  readonly maxImageBodyBytes: number;
}

/** The clients of one provider: where they put the key, and how errors and lists look to them. */
export interface Caller {
  readonly name: string;
  readonly errors: ErrorWriter;
  /** The headers that may carry a key, in lower case. */
  keyHeaders(settings: KeySettings): readonly string[];
  /**
   * The key of a request, undefined where it has none or several.
   *
   * @throws GatewayError `invalid_request` where `Connection` names the header of the key
   */
  secretOf(request: GatewayRequest, settings: KeySettings): string | undefined;
  /** The header to send, as a 401 names it: `Authorization: Bearer <key>`. */
  keyExample(settings: KeySettings): string;
  readonly models: ModelLists;
}

/** How the models are listed. */
export interface ModelLists {
  /** Where a caller finds the list: `GET /v1/models`. */
  readonly request: string;
  /** @throws GatewayError `invalid_request` for a page that makes no sense */
  list(models: readonly Model[], search: string): JsonObject;
  one(model: Model): JsonObject;
}

/** An API of the gateway. */
export interface Protocol {
  readonly name: ProtocolName;
  readonly caller: Caller;
  /** An upstream of this dialect is relayed to; for one of another the call is translated. */
  readonly dialect: string;
  /** What its calls ask an upstream to do, but for a path that says otherwise. */
  readonly operation: Operation;
  /** Where its calls are POSTed. */
  readonly paths: readonly string[];
  /** The methods that it has behind a model's name: `/v1beta/models/{model}:generateContent`. */
  readonly methods: Readonly<Record<string, PathMethod>>;
  /** How many bytes a body may have. */
  maxBodyBytes(settings: BodySettings): number;
  /** What an idempotency store knows its calls as; undefined where `Idempotency-Key` is ignored. */
  readonly repeatableAs: ClaimInput['operation'] | undefined;
  /** The member that says how many answers are wanted, and their maximum if the model has none. */
  readonly candidates: { readonly member: string; readonly maximum: number };
  /** @throws GatewayError `invalid_request` that names the member */
  read(scanned: ScannedBody, target: CallTarget): Call;
  readonly relay: RelayRules;
  /** The caller's side of translations; undefined for what the protocol never asks. */
  readonly codecs: {
    readonly content: ContentServerCodec | undefined;
    /** Reads a request for images. */
    readonly images: ((body: JsonObject) => ImageRequest) | undefined;
    /** Writes how many tokens a request has. */
    readonly countTokens: ((count: number) => string) | undefined;
  };
  /** Counts the images in a reply; undefined where the reply states them itself. */
  readonly imageCounter: ((framing: Framing) => ImageCounter) | undefined;
  /**
   * What keeps the connection of a quiet stream alive, undefined where its clients take nothing.
   * `isFirst`: nothing of the reply has gone out.
   */
  keepAlive(framing: Framing, isFirst: boolean): string | undefined;
}

/** A method in a path. */
export interface PathMethod {
  readonly operation: Operation;
  framing(search: string): Framing;
}

/** What the path of a call says of it. */
export interface CallTarget {
  readonly operation: Operation;
  /** Of paths that name the model; the others read it in the body. */
  readonly modelId: string | undefined;
  readonly framing: Framing;
}

/** What a relay changes and checks. */
export interface RelayRules {
  /** Members of the caller's body that this channel needs otherwise. */
  edits(call: Call, upstreamModel: string, channel: Channel): readonly MemberEdit[];
  /** A fresh tap for a reply that streams past. */
  tap(call: Call, channel: Pick<Channel, 'capabilities'>): StreamTap;
  /** Why a whole document is no reply to this call; undefined where it is one. */
  faultIn(reply: JsonValue, call: Pick<Call, 'operation'>): string | undefined;
  /**
   * The usage in a whole reply, or undefined where it is absent or absurd; `counted` is its content
   * in tokens, for what the usage leaves open.
   */
  readUsage(
    reply: JsonValue,
    channel: Pick<Channel, 'capabilities'>,
    counted: () => number,
  ): Usage | undefined;
  /** What a whole reply has beside its text: media, and calls where those are no text. */
  partTokens(reply: JsonValue): number;
}

/** A call's route: its protocol, and what its path says. */
export interface CallRoute extends CallTarget {
  readonly kind: 'call';
  readonly caller: Caller;
  readonly protocol: Protocol;
}

/** What a request asks for, and whose clients read the answer. */
export type Route =
  | CallRoute
  | {
      readonly kind: 'models';
      readonly caller: Caller;
      /** The protocols whose models are listed. */
      readonly protocols: readonly ProtocolName[];
      /** One model, or the list. */
      readonly modelId: string | undefined;
    }
  | { readonly kind: 'options'; readonly caller: Caller; readonly allow: string }
  | { readonly kind: 'refused'; readonly caller: Caller; readonly error: GatewayError };

/** Whether calls of a protocol are relayed to upstreams of a dialect. */
export function isRelayed(protocol: Protocol, dialect: Dialect): boolean {
  return protocol.dialect === dialect.name;
}

/** Whether an upstream of this dialect can serve a protocol, relayed or translated. */
export function isServed(protocol: Protocol, dialect: Dialect | undefined): boolean {
  return dialect?.paths[protocol.operation.name] !== undefined;
}
