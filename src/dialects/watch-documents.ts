/** Takes apart a reply as it passes: one document, or events with one each. */

import { type ExtractionRule, stringExtractor } from '../bytes/json/stream/string-extractor.ts';
import { parseEvents } from '../bytes/sse.ts';
import type { Framing } from '../call.ts';

/** What is found in the documents of a reply. */
export interface DocumentWatch {
  /** Where in a document to look. */
  readonly root: ExtractionRule;
  /** Told behind each event's document; of a reply that is one document nobody says its end. */
  readonly eventEnds: () => void;
}

/** Begins with the reply; gets its bytes in pieces, of an event stream whole events. */
export function watchDocuments(
  framing: Framing,
  { root, eventEnds }: DocumentWatch,
): (bytes: Uint8Array) => void {
  if (framing !== 'sse') {
    const whole = stringExtractor(root);
    return (bytes) => {
      whole.write(bytes);
    };
  }
  return (bytes) => {
    for (const { data } of parseEvents(bytes)) {
      if (data === undefined) continue;
      stringExtractor(root).write(Buffer.from(data));
      eventEnds();
    }
  };
}
