/** Watches the documents of a reply as it passes: a single document, or one in each event. */

import type { Framing } from '../../apis.ts';
import {
  type ExtractionRule,
  type StringSink,
  stringExtractor,
} from '../../bytes/json/stream/string-extractor.ts';
import { parseEvents } from '../../bytes/sse.ts';

export interface DocumentWatch {
  readonly root: ExtractionRule;
  /** Called after each event's document; not called for a reply that is a single document. */
  readonly eventEnds: () => void;
}

/** Receives no string, but calls `onBegin` when one begins. */
export function whenStringBegins(onBegin: () => void): StringSink {
  return {
    begin: () => {
      onBegin();
      return false;
    },
    write: () => {},
    end: () => {},
  };
}

/** For an event stream, each piece must consist of whole events. */
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
