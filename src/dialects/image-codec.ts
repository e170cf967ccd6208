/**
 * Translation of image calls: what a caller asks for, and how an upstream of another dialect is
 * asked and its answer turned into the image document as it streams past.
 */
import type { ReplyHead, UpstreamTarget } from './codec.ts';
import type { StreamTap } from './tap.ts';

/** What a caller of the images protocol asks for; undefined is what it did not say. */
export interface ImageRequest {
  readonly prompt: string;
  /** Images wanted; 1 where the caller did not say. */
  readonly candidates: number;
  /** `1024x1024`, `auto`. */
  readonly size: string | undefined;
  readonly quality: string | undefined;
  /** `png`, `jpeg`, `webp`. */
  readonly outputFormat: string | undefined;
  /** `transparent`, `opaque`, `auto`. */
  readonly background: string | undefined;
  /** Who the caller serves, for the provider's abuse watch. */
  readonly endUserId: string | undefined;
  /** What reading had to leave out already, in the caller's words. */
  readonly dropped: readonly string[];
}

/** Writes what an image upstream of a dialect is sent, and turns its answer into images. */
export interface ImageClientCodec {
  /**
   * @throws GatewayError `not_portable` that names the caller's member which this upstream has no
   *   words for and which can't be left out without meaning something else
   */
  begin(request: ImageRequest, target: UpstreamTarget): ImageExchange;
}

/** One image request with its reply. */
export interface ImageExchange {
  /** The body as JSON text. */
  readonly body: string;
  /** The caller's members that were left out, cut, or replaced. */
  readonly dropped: readonly string[];
  /**
   * Takes the upstream's document and gives the image document of the images protocol, piece by
   * piece, without ever holding an image. Nothing comes before the first image does, so a reply
   * without one can still be answered with an error.
   */
  tap(head: ReplyHead): StreamTap;
}
