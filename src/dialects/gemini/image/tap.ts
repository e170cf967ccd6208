/**
 * Converts a reply of Google's image models to the images protocol as it streams: the Base64 is
 * copied from one JSON string to the other without being buffered or parsed.
 */

import { parseBounded } from '../../../bounded-json.ts';
import {
  type ExtractionRule,
  type StringExtractor,
  type StringSink,
  stringExtractor,
} from '../../../bytes/json/stream/string-extractor.ts';
import { concatBytes, emptyBytes } from '../../../bytes/sse.ts';
import { type JsonValue, nonEmpty } from '../../../json.ts';
import type { Usage } from '../../../money.ts';
import { type ImageReplyWriter, imageReply } from '../../openai/image-reply.ts';
import { billedReply, brokenReply, type FailureReport, type StreamTap } from '../../taps/tap.ts';
import { geminiInBandFailure } from '../errors.ts';
import { usageOfMetadata } from '../usage.ts';

/** Gemini 2.5 counts this number of tokens per image, and newer models about as many. */
const tokensPerImage = 1290;

interface ReplyState {
  out: Uint8Array[];
  images: number;
  fault: FailureReport | undefined;
  usageJson: string | undefined;
  isBlocked: boolean;
  wasWithheld: boolean;
}

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
      state.wasWithheld ||= withheldReasons.has(reason);
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
  const read = usageOfMetadata(parsed(usageJson));
  return read && { ...read, images };
}

function parsed(json: string | undefined): JsonValue | undefined {
  return json === undefined ? undefined : parseBounded(json);
}

function errorIn(json: string | undefined): FailureReport | undefined {
  const error = parsed(json);
  return error === undefined ? unreadableError : geminiInBandFailure({ error });
}

const withheldReasons: ReadonlySet<string> = new Set([
  ...['SAFETY', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'RECITATION', 'MODEL_ARMOR'],
  ...['IMAGE_SAFETY', 'IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION'],
]);

/** The upstream replied, and billed, but sent no image, or something that isn't one. */
const noImage: FailureReport = billedReply('upstream_no_image');

/** An error that can't be read because it is too long to keep or not JSON. */
const unreadableError: FailureReport = brokenReply('upstream_error');

const refused: FailureReport = {
  status: 400,
  message: undefined,
  code: 'moderation_blocked',
  clientCode: 'moderation_blocked',
  param: undefined,
  retryAfterMs: undefined,
  fault: 'request',
};

function failureWithoutImage(reply: {
  readonly isBlocked: boolean;
  readonly wasWithheld: boolean;
}): FailureReport {
  if (reply.isBlocked) {
    return { ...refused, message: "The prompt was blocked by the model's provider." };
  }
  if (reply.wasWithheld) {
    return { ...refused, message: "The image was withheld by the model's provider." };
  }
  return noImage;
}

interface ImageReplyListener {
  imageBegins(): void;
  /** The next fragment of the image's Base64, without quotes. */
  imagePiece(bytes: Uint8Array): void;
  imageEnds(): void;
  /** The data passed on as an image turned out not to be one. */
  notAnImage(): void;
  finishReason(reason: string): void;
  blockReason(reason: string): void;
  /** JSON text; undefined if it is too long to keep. The same applies to `error`. */
  usage(json: string | undefined): void;
  error(json: string | undefined): void;
}

/** Starts to read one reply. Google may send an error inside an array. */
function readImageReply(listener: ImageReplyListener): StringExtractor {
  const stringValue = (receive: (value: string) => void): ExtractionRule => ({
    text: (json) => {
      const word = nonEmpty(parsed(json));
      if (word !== undefined) receive(word);
    },
  });
  const content: ExtractionRule = { members: { parts: { elements: partPlace(listener) } } };
  const finishReason = stringValue(listener.finishReason);
  const blockReason = stringValue(listener.blockReason);
  const members: ExtractionRule['members'] = {
    candidates: { elements: { members: { content, finishReason } } },
    promptFeedback: { members: { blockReason } },
    usageMetadata: { text: listener.usage },
    error: { text: listener.error },
  };
  return stringExtractor({ members, elements: { members } });
}

/** An image in a part marked as a thought is a draft and is ignored. */
function partPlace(listener: ImageReplyListener): ExtractionRule {
  let isDraft = false;
  const thought: ExtractionRule = {
    text: (json) => {
      isDraft = json === 'true';
    },
  };
  const inlineData = blobPlace(listener, () => !isDraft);
  return {
    onBegin: () => {
      isDraft = false;
    },
    members: { thought, inlineData, inline_data: inlineData },
  };
}

/** The type may come before or after the data. Without a type, the data is taken for an image. */
function blobPlace(listener: ImageReplyListener, isWanted: () => boolean): ExtractionRule {
  let isImage = true;
  let begun = false;
  const data: StringSink = {
    begin: () => isWanted() && isImage && !begun,
    write: (bytes) => {
      if (bytes.length === 0) return;
      if (!begun) listener.imageBegins();
      begun = true;
      listener.imagePiece(bytes);
    },
    end: () => {
      if (begun) listener.imageEnds();
    },
  };
  const mimeType: ExtractionRule = {
    text: (json) => {
      isImage = /^image\//i.test(nonEmpty(parsed(json)) ?? 'image/');
      if (begun && !isImage) listener.notAnImage();
    },
  };
  return {
    onBegin: () => {
      isImage = true;
      begun = false;
    },
    members: { mimeType, mime_type: mimeType, data: { string: data } },
  };
}
