/**
 * Translation of image calls: writes a request of the images protocol for an upstream of another
 * dialect, and turns the upstream's reply into the image document while it streams past.
 */
import type { ReplyHead, UpstreamTarget } from './codec.ts';
import type { StreamTap } from './taps/tap.ts';

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
  readonly endUserId: string | undefined;
  /** Members that were already dropped when the request was read, by the caller's names. */
  readonly dropped: readonly string[];
}

export interface ImageClientCodec {
  /** @throws GatewayError `not_portable` that names a member that can't be dropped */
  begin(request: ImageRequest, target: UpstreamTarget): ImageExchange;
}

export interface ImageExchange {
  readonly body: string;
  readonly dropped: readonly string[];
  /** Writes nothing before the first image: a reply without one can still become an error. */
  tap(head: ReplyHead): StreamTap;
}
