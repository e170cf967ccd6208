/** Where in Google's answer the images lie, and the few other members that count beside them. */
import {
  type ExtractionRule,
  type StringExtractor,
  type StringSink,
  stringExtractor,
} from '../../../bytes/json/stream/string-extractor.ts';
import { parseJson } from '../../../json.ts';

/** Hears what an answer says, in the order in which it says it. */
export interface AnswerListener {
  /** The first bytes of an image are about to come. */
  imageBegins(): void;
  /** More of its Base64, as it stands between the quotes. */
  imagePiece(bytes: Uint8Array): void;
  imageEnds(): void;
  /** What was handed on as an image has turned out to be none. */
  wasNoImage(): void;
  finishReason(reason: string): void;
  blockReason(reason: string): void;
  /** JSON text, undefined where it is too long to be kept; so is the error's. */
  usage(json: string | undefined): void;
  error(json: string | undefined): void;
}

/** Begins to read one answer. Google sends an error inside of an array too. */
export function readImageAnswer(listener: AnswerListener): StringExtractor {
  const words = (hear: (word: string) => void): ExtractionRule => ({
    text: (json) => {
      const word = stringIn(json);
      if (word !== undefined) hear(word);
    },
  });
  const content: ExtractionRule = { members: { parts: { elements: partPlace(listener) } } };
  const finishReason = words(listener.finishReason);
  const blockReason = words(listener.blockReason);
  const members: ExtractionRule['members'] = {
    candidates: { elements: { members: { content, finishReason } } },
    promptFeedback: { members: { blockReason } },
    usageMetadata: { text: listener.usage },
    error: { text: listener.error },
  };
  return stringExtractor({ members, elements: { members } });
}

/** A part marked as a thought is a draft of the image, not the image. */
function partPlace(listener: AnswerListener): ExtractionRule {
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

/** Its type may stand before or behind the data: until it says otherwise, it is an image. */
function blobPlace(listener: AnswerListener, isWanted: () => boolean): ExtractionRule {
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
      if (begun && !isImage) listener.wasNoImage();
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
  const value = json === undefined ? undefined : parseJson(json);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
