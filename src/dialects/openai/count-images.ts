/** Counts the images of a chat reply as it passes, for models that are priced by the image. */

import type { Framing } from '../../apis.ts';
import type { ExtractionRule } from '../../bytes/json/stream/string-extractor.ts';
import type { ImageCounter } from '../dialect.ts';
import { watchDocuments, whenStringBegins } from '../taps/watch-documents.ts';

/** Starts at 0. Each event of a stream is a document; any other reply is a single document. */
export function openaiImageCounter(framing: Framing): ImageCounter {
  let images = 0;
  let isImage = false;

  const endElement = (): void => {
    if (isImage) images += 1;
    isImage = false;
  };
  const recordImage = (): void => {
    isImage = true;
  };
  const holds: ExtractionRule = { onBegin: recordImage };
  // The image lists of OpenRouter and LiteLLM, and image parts in the content.
  const element: ExtractionRule = {
    onBegin: endElement,
    members: { image_url: holds, url: holds, b64_json: holds, image: holds },
    string: whenStringBegins(recordImage),
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
    // A reply that ends within an image still counts that image.
    images: () => images + (isImage ? 1 : 0),
  };
}
