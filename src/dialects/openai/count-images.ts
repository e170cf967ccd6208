/** Counts the images of a chat reply as it passes, for models that are priced by the image. */
import type { ExtractionRule } from '../../bytes/json/stream/string-extractor.ts';
import type { Framing } from '../../call.ts';
import type { ImageCounter } from '../dialect.ts';
import { watchDocuments } from '../watch-documents.ts';

/** Begins at 0. An event of a stream is a document of its own; every other reply is one. */
export function openaiImageCounter(framing: Framing): ImageCounter {
  let images = 0;
  /** The element that is passing holds an image. */
  let isImage = false;

  const endElement = (): void => {
    if (isImage) images += 1;
    isImage = false;
  };
  const holds: ExtractionRule = {
    onBegin: () => {
      isImage = true;
    },
  };
  // Servers that list images beside the text (OpenRouter, LiteLLM) and those that do it in parts.
  const element: ExtractionRule = {
    onBegin: endElement,
    members: { image_url: holds, url: holds, b64_json: holds, image: holds },
    string: {
      begin: () => {
        isImage = true;
        return false;
      },
      write: () => {},
      end: () => {},
    },
  };
  const part: ExtractionRule = {
    onBegin: endElement,
    members: { image_url: holds, b64_json: holds, image: holds },
  };
  const message: ExtractionRule = {
    members: { images: { elements: element }, content: { elements: part } },
  };
  const choice: ExtractionRule = { members: { message, delta: message } };
  const root: ExtractionRule = { members: { choices: { elements: choice } } };

  return {
    write: watchDocuments(framing, { root, eventEnds: endElement }),
    // A reply that breaks off in an image has that image.
    images: () => images + (isImage ? 1 : 0),
  };
}
