/**
 * Describes a provider's wire format for the gateway's calls to its upstreams. Each dialect is a
 * folder and a row in `table.ts`; no stage knows a wire shape.
 */
import type { Call } from '../call.ts';
import { GatewayError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import type { JsonValue } from '../json.ts';
import type { CapabilityTable } from './capabilities.ts';
import type { ContentClientCodec, ImageClientCodec, TokenCounter } from './codec.ts';
import type { EmbeddingClientCodec } from './embedding-codec.ts';
import type { CredentialForm, Hosting } from './hosting.ts';
import type { MeasureBody } from './measure/prompt-size.ts';
import type { UpstreamPaths } from './paths.ts';
import type { StreamFormat } from './stream-format.ts';
import type { FailureReport } from './taps/tap.ts';

export interface ErrorWriter {
  /** `requestId` is the `x-request-id` of the response. */
  body(error: GatewayError, requestId: string): Uint8Array;
}

/** The wire format of a provider's upstreams. */
export interface Dialect {
  readonly name: string;
  readonly capabilities: CapabilityTable;
  readonly paths: UpstreamPaths;
  /** The header that carries the account's secret, and headers that every request needs. */
  credential(secret: string, form: CredentialForm): HeaderMap;
  /** What is different on the platform that hosts the models; undefined at the provider itself. */
  readonly hosting: Hosting | undefined;
  /** The framing of streamed replies, which is needed to translate them. */
  readonly streams: StreamFormat;
  readFailure(status: number, body: Uint8Array, headers: HeaderMap): FailureReport;
  /** Reads an error inside a 2xx reply; undefined if there is none. */
  inBandFailure(reply: JsonValue): FailureReport | undefined;
  codecs(): Promise<DialectCodecs>;
}

/** What only translations need of a dialect. It is loaded when the first call is translated. */
export interface DialectCodecs {
  readonly content: ContentClientCodec;
  /** Translates image calls; undefined if the provider has none or they are relayed. */
  readonly images: ImageClientCodec | undefined;
  readonly embeddings: EmbeddingClientCodec | undefined;
  readonly measure: MeasureBody;
  /** Counts tokens; undefined if the provider cannot, so that the gateway estimates. */
  readonly tokenCounter: TokenCounter | undefined;
}

/** Counts the images of a reply, in the caller's dialect, as it passes. */
export interface ImageCounter {
  /** Takes the next bytes: whole events of a stream, or any part of a document. */
  write(bytes: Uint8Array): void;
  images(): number;
}

export function bearer(secret: string): HeaderMap {
  return { authorization: `Bearer ${secret}` };
}

/** Returns the path of a call. `ownPaths` are those of an API that differ from the dialect's. */
export function upstreamPath(
  { paths, hosting }: Pick<Dialect, 'paths' | 'hosting'>,
  { operation, framing }: Pick<Call, 'operation' | 'framing'>,
  upstreamModel: string,
  ownPaths?: UpstreamPaths,
): string {
  const pathOf = ownPaths?.[operation.name] ?? paths[operation.name];
  if (pathOf !== undefined) {
    const path = pathOf(upstreamModel, framing);
    return hosting?.path(path, { operation: operation.name, framing, upstreamModel }) ?? path;
  }
  throw new GatewayError('not_implemented', 'This provider does not support this operation.');
}
