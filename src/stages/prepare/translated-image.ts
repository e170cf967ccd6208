/**
 * Translates an image call for an upstream of another dialect. The Base64 data is copied from one
 * document to the other as it streams, and never buffered whole.
 */

import { operations } from '../../apis.ts';
import { concatBytes } from '../../bytes/sse.ts';
import type {
  ImageClientCodec,
  ImageExchange,
  ImageRequest,
  ReplyHead,
  UpstreamTarget,
} from '../../dialects/codec.ts';
import { type Dialect, upstreamPath } from '../../dialects/dialect.ts';
import { droppedNote } from './notes.ts';
import {
  type Judgement,
  maxBufferedRelayBytes,
  type PreparedRequest,
  tapFailure,
  unreadableReply,
} from './prepared-call.ts';

export interface ImageTranslation {
  readonly request: ImageRequest;
  readonly dialect: Dialect;
  readonly codec: ImageClientCodec;
  readonly target: UpstreamTarget;
  readonly head: ReplyHead;
  readonly strict: boolean;
}

export function prepareTranslatedImage(translation: ImageTranslation): PreparedRequest {
  const { request, dialect, codec, target, head, strict } = translation;
  const exchange = codec.begin(request, target);
  const body = Buffer.from(exchange.body);
  return {
    dialect,
    streamContentType: dialect.streams.contentType,
    path: upstreamPath(
      dialect,
      { operation: operations.images, framing: 'json' },
      target.upstreamModel,
    ),
    framing: 'json',
    body: [body],
    prompt: { textBytes: body.length, sealedBytes: 0, messages: 0, media: [] },
    notes: droppedNote(exchange.dropped, strict),
    maxBufferedBytes: maxBufferedRelayBytes,
    canTapDocument: false,
    tap: () => exchange.tap(head),
    judge: (bytes) => judge(bytes, exchange, head),
    replyToRefusal: () => undefined,
  };
}

/** A small reply goes through the same tap, in one piece. */
function judge(bytes: Uint8Array, exchange: ImageExchange, head: ReplyHead): Judgement {
  const tap = exchange.tap(head);
  const pieces = [tap.write(bytes), tap.end()];
  const failed = tapFailure(tap);
  if (failed !== undefined) return failed;
  if (!tap.complete()) return unreadableReply(bytes);
  return { kind: 'whole', bytes: concatBytes(pieces), usage: tap.usage() };
}
