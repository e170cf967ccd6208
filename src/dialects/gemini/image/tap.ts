/**
 * Converts a reply of Google's image models to the images protocol as it streams: the Base64 is
 * copied from one JSON string to the other without being buffered or parsed.
 */
import { parseBounded } from '../../../bounded-json.ts';
import { concatBytes, emptyBytes } from '../../../bytes/sse.ts';
import type { Usage } from '../../../money.ts';
import { imageReply } from '../../openai/image-reply.ts';
import type { FailureReport, StreamTap } from '../../tap.ts';
import { geminiInBandFailure } from '../errors.ts';
import { usageOfMetadata } from '../usage.ts';
import { failureWithoutImage, isWithheld, noImage, unreadableError } from './no-image.ts';
import { readImageReply } from './read-reply.ts';

/** Gemini 2.5 counts this number of tokens per image, and newer models about as many. */
const tokensPerImage = 1290;

/** Creates the tap of one reply. */
export function geminiImageTap(createdSeconds: number): StreamTap {
  const reply = imageReply(createdSeconds);
  let out: Uint8Array[] = [];
  let images = 0;
  let fault: FailureReport | undefined;
  let usageJson: string | undefined;
  let isBlocked = false;
  let wasWithheld = false;
  let ended = false;

  const reader = readImageReply({
    imageBegins: () => out.push(reply.imageBegins()),
    imagePiece: (bytes) => out.push(bytes),
    imageEnds: () => {
      out.push(reply.imageEnds());
      images += 1;
    },
    notAnImage: () => {
      fault ??= noImage;
    },
    finishReason: (reason) => {
      wasWithheld ||= isWithheld(reason);
    },
    blockReason: () => {
      isBlocked = true;
    },
    usage: (json) => {
      usageJson = json;
    },
    error: (json) => {
      fault ??= errorIn(json);
    },
  });

  const usage = (): Usage | undefined => {
    const read = usageJson === undefined ? undefined : usageOfMetadata(parseBounded(usageJson));
    return read && { ...read, images };
  };
  const complete = (): boolean => reader.isWhole() && images > 0 && fault === undefined;
  /** Whether the reply ended without an image. */
  const isEmpty = (): boolean => ended && reader.isWhole() && images === 0;

  return {
    write: (chunk) => {
      reader.write(chunk);
      const passed = fault === undefined ? concatBytes(out) : emptyBytes;
      out = [];
      return passed;
    },
    end: () => {
      const isFirst = !ended;
      ended = true;
      return isFirst && complete() ? reply.end(usage()) : emptyBytes;
    },
    hasBegun: () => images > 0,
    finished: () => false,
    complete,
    failure: () =>
      fault ?? (isEmpty() ? failureWithoutImage({ isBlocked, wasWithheld }) : undefined),
    usage,
    countedTokens: () => images * tokensPerImage,
    progress: () => 0,
    breakOff: () => undefined,
  };
}

function errorIn(json: string | undefined): FailureReport | undefined {
  const error = json === undefined ? undefined : parseBounded(json);
  return error === undefined ? unreadableError : geminiInBandFailure({ error });
}
