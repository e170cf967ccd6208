/** Counts the images of a native reply as it streams, for models that are priced per image. */

import type { Framing } from '../../apis.ts';
import type { ExtractionRule } from '../../bytes/json/stream/string-extractor.ts';
import type { ImageCounter } from '../dialect.ts';
import { watchDocuments, whenStringBegins } from '../taps/watch-documents.ts';

/** Every event of a stream is a separate document; any other reply is one document. */
export function geminiImageCounter(framing: Framing): ImageCounter {
  let images = 0;
  /** The current part. An image in a `thought` part is a draft. The members come in any order. */
  let part = { hasData: false, isImage: true, isDraft: false };

  const endPart = (): void => {
    if (part.hasData && part.isImage && !part.isDraft) images += 1;
    part = { hasData: false, isImage: true, isDraft: false };
  };
  const mimeType: ExtractionRule = {
    text: (json) => {
      part.isImage = json === undefined || /^"image\\?\//i.test(json);
    },
  };
  const data: ExtractionRule = {
    string: whenStringBegins(() => {
      part.hasData = true;
    }),
  };
  const blob: ExtractionRule = { members: { mimeType, mime_type: mimeType, data } };
  const thought: ExtractionRule = {
    text: (json) => {
      part.isDraft = json === 'true';
    },
  };
  const parts: ExtractionRule = {
    elements: { onBegin: endPart, members: { thought, inlineData: blob, inline_data: blob } },
  };
  const content: ExtractionRule = { members: { parts } };
  const members: ExtractionRule['members'] = { candidates: { elements: { members: { content } } } };
  const root: ExtractionRule = { members, elements: { members } };

  return {
    write: watchDocuments(framing, { root, eventEnds: endPart }),
    // A reply that is cut off inside a part still counts that part.
    images: () => images + (part.hasData && part.isImage && !part.isDraft ? 1 : 0),
  };
}
