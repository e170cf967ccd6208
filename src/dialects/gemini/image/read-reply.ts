/** Extracts the images and the few other relevant members from Google's streamed reply. */
import { parseBounded } from '../../../bounded-json.ts';
import {
  type ExtractionRule,
  type StringExtractor,
  type StringSink,
  stringExtractor,
} from '../../../bytes/json/stream/string-extractor.ts';

/** Receives the contents of a reply in the order in which they are sent. */
export interface ImageReplyListener {
  /** The first bytes of an image follow. */
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
export function readImageReply(listener: ImageReplyListener): StringExtractor {
  const stringValue = (receive: (value: string) => void): ExtractionRule => ({
    text: (json) => {
      const word = stringIn(json);
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
      isImage = /^image\//i.test(stringIn(json) ?? 'image/');
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

function stringIn(json: string | undefined): string | undefined {
  const value = json === undefined ? undefined : parseBounded(json);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
