/**
 * What the gateway needs to know of a provider's wire format to call its upstreams: one folder and
 * one row in `table.ts` for each dialect. No stage knows a wire shape.
 */
import type { Call, Framing, OperationName } from '../call.ts';
import { GatewayError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import type { JsonValue } from '../json.ts';
import type { CapabilityTable } from './capabilities.ts';
import type { ContentClientCodec, TokenCounter } from './codec.ts';
import type { ImageClientCodec } from './image-codec.ts';
import type { MeasureBody } from './prompt-size.ts';
import type { StreamFormat } from './stream-format.ts';
import type { FailureReport } from './tap.ts';

/** Writes a refusal or a failure as the callers of a dialect expect it. */
export interface ErrorWriter {
  body(error: GatewayError): Uint8Array;
}

/** Path and query below the channel's base URL. */
export type UpstreamPath = (upstreamModel: string, framing: Framing) => string;

/** A request as it goes out, for a signature over it. */
export interface SignedRequest {
  readonly method: string;
  /** `https://host:port` */
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly headers: HeaderMap;
  readonly body: readonly Uint8Array[];
  /** The account's secret, in whatever form the channel's credential has it. */
  readonly secret: string;
  readonly nowMs: number;
}

/** The headers that sign a request; made for every try. */
export type SignRequest = (request: SignedRequest) => HeaderMap;

/** A provider's wire format, as its upstreams speak it. */
export interface Dialect {
  readonly name: string;
  /** What its models can take and give. */
  readonly capabilities: CapabilityTable;
  /** Where each operation is requested; undefined for one that the provider does not have. */
  readonly paths: Readonly<Record<OperationName, UpstreamPath | undefined>>;
  /** The header that carries the account's secret, with what must always go beside it. */
  credential(secret: string): HeaderMap;
  /** Headers that depend on the request, signatures; undefined where there are none. */
  readonly sign: SignRequest | undefined;
  /** How streamed replies are framed, where a call is translated. */
  readonly streams: StreamFormat;
  /** What a refusal says. */
  readFailure(status: number, body: Uint8Array): FailureReport;
  /** An error inside a 2xx reply, or undefined where there is none. */
  inBandFailure(reply: JsonValue): FailureReport | undefined;
  /** Translates content for callers of other dialects. */
  readonly content: ContentClientCodec;
  /** Translates image calls; undefined where the provider makes none, or they are relayed. */
  readonly images: ImageClientCodec | undefined;
  /** Measures a request body of this dialect. */
  readonly measure: MeasureBody;
  /** Counts tokens; undefined where the provider has no such call, and we estimate. */
  readonly tokenCounter: TokenCounter | undefined;
}

/** Counts the images of a reply in a caller's dialect as it passes. */
export interface ImageCounter {
  /** The next bytes: whole events of a stream, any part of a document. */
  write(bytes: Uint8Array): void;
  images(): number;
}

/**
 * Where a call is sent.
 *
 * @throws GatewayError `not_implemented` where the provider has no such call
 */
export function upstreamPath(
  { paths }: Pick<Dialect, 'paths'>,
  { operation, framing }: Pick<Call, 'operation' | 'framing'>,
  upstreamModel: string,
): string {
  const path = paths[operation.name];
  if (path !== undefined) return path(upstreamModel, framing);
  throw new GatewayError('not_implemented', 'This provider has no such call.');
}

/** Counts the images of a reply in a caller's dialect as it passes. */
export interface ImageCounter {
  /** The next bytes: whole events of a stream, any part of a document. */
  write(bytes: Uint8Array): void;
  images(): number;
}
