/**
 * Converts a reply of Google's image models to the images protocol as it streams: the Base64 is
 * copied from one JSON string to the other without being buffered or parsed.
 */
import { parseBounded } from '../../../bounded-json.ts';
import { concatBytes, emptyBytes } from '../../../bytes/sse.ts';
import type { Usage } from '../../../money.ts';
import { type ImageReplyWriter, imageReply } from '../../openai/image-reply.ts';
import type { FailureReport, StreamTap } from '../../tap.ts';
import { geminiInBandFailure } from '../errors.ts';
import { usageOfMetadata } from '../usage.ts';
import { failureWithoutImage, isWithheld, noImage, unreadableError } from './no-image.ts';
import { type ImageReplyListener, readImageReply } from './read-reply.ts';

/** Gemini 2.5 counts this number of tokens per image, and newer models about as many. */
const tokensPerImage = 1290;

/** What one reply has contained so far. */
interface ReplyState {
  /** The bytes for the caller that were not returned yet. */
  out: Uint8Array[];
  images: number;
  fault: FailureReport | undefined;
  usageJson: string | undefined;
  isBlocked: boolean;
  wasWithheld: boolean;
}

/** Creates the tap of one reply. */
export function geminiImageTap(createdSeconds: number): StreamTap {
  const reply = imageReply(createdSeconds);
  const state: ReplyState = {
    out: [],
    images: 0,
    fault: undefined,
    usageJson: undefined,
    isBlocked: false,
    wasWithheld: false,
  };
  const reader = readImageReply(recorder(state, reply));
  let ended = false;
  const complete = (): boolean => reader.isWhole() && state.images > 0 && state.fault === undefined;
  /** Whether the reply ended without an image. */
  const isEmpty = (): boolean => ended && reader.isWhole() && state.images === 0;
  return {
    write: (chunk) => {
      reader.write(chunk);
      return takeBytes(state);
    },
    end: () => {
      const isFirst = !ended;
      ended = true;
      return isFirst && complete() ? reply.end(usageOf(state)) : emptyBytes;
    },
    hasBegun: () => state.images > 0,
    finished: () => false,
    complete,
    failure: () => state.fault ?? (isEmpty() ? failureWithoutImage(state) : undefined),
    usage: () => usageOf(state),
    countedTokens: () => state.images * tokensPerImage,
    progress: () => 0,
    breakOff: () => undefined,
  };
}

/** Records what the reader finds. */
function recorder(state: ReplyState, reply: ImageReplyWriter): ImageReplyListener {
  return {
    imageBegins: () => state.out.push(reply.imageBegins()),
    imagePiece: (bytes) => state.out.push(bytes),
    imageEnds: () => {
      state.out.push(reply.imageEnds());
      state.images += 1;
    },
    notAnImage: () => {
      state.fault ??= noImage;
    },
    finishReason: (reason) => {
      state.wasWithheld ||= isWithheld(reason);
    },
    blockReason: () => {
      state.isBlocked = true;
    },
    usage: (json) => {
      state.usageJson = json;
    },
    error: (json) => {
      state.fault ??= errorIn(json);
    },
  };
}

function takeBytes(state: ReplyState): Uint8Array {
  const passed = state.fault === undefined ? concatBytes(state.out) : emptyBytes;
  state.out = [];
  return passed;
}

function usageOf({ usageJson, images }: ReplyState): Usage | undefined {
  const read = usageJson === undefined ? undefined : usageOfMetadata(parseBounded(usageJson));
  return read && { ...read, images };
}

function errorIn(json: string | undefined): FailureReport | undefined {
  const error = json === undefined ? undefined : parseBounded(json);
  return error === undefined ? unreadableError : geminiInBandFailure({ error });
}
