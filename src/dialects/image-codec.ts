/**
 * Translation of image calls: writes a request of the images protocol for an upstream of another
 * dialect, and turns the upstream's reply into the image document while it streams past.
 */
import type { ReplyHead, UpstreamTarget } from './codec.ts';
import type { StreamTap } from './taps/tap.ts';

/** A request of the images protocol; members that the caller did not send are undefined. */
export interface ImageRequest {
  readonly prompt: string;
  /** The number of images; 1 by default. */
  readonly candidates: number;
  /** `1024x1024`, `auto`. */
  readonly size: string | undefined;
  readonly quality: string | undefined;
  /** `png`, `jpeg`, `webp`. */
  readonly outputFormat: string | undefined;
  /** `transparent`, `opaque`, `auto`. */
  readonly background: string | undefined;
  /** Identifies the caller's end user for the provider's abuse detection. */
  readonly endUserId: string | undefined;
  /** Members that were already dropped when the request was read, by the caller's names. */
  readonly dropped: readonly string[];
}

/** Writes requests to image upstreams of a dialect and converts their replies. */
export interface ImageClientCodec {
  /**
   * @throws GatewayError `not_portable` that names a member which this upstream does not support
   *   and which cannot be dropped without changing the meaning of the request
   */
  begin(request: ImageRequest, target: UpstreamTarget): ImageExchange;
}

/** One image request and its reply. */
export interface ImageExchange {
  /** The body as JSON text. */
  readonly body: string;
  /** The caller's members that were dropped, shortened or replaced. */
  readonly dropped: readonly string[];
  /**
   * Converts the upstream's document to the document of the images protocol, piece by piece and
   * without buffering an image. It writes nothing before the first image, so that a reply without
   * images can still become an error response.
   */
  tap(head: ReplyHead): StreamTap;
}
