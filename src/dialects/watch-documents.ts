/** Takes apart a reply as it passes: one document, or events with one each. */

import { type LiftPlace, stringLift } from '../bytes/json/stream/string-lift.ts';
import { eventsIn } from '../bytes/sse.ts';
import type { Framing } from '../call.ts';

/** What is found in the documents of a reply. */
export interface DocumentWatch {
  /** Where in a document to look. */
  readonly root: LiftPlace;
  /** Told behind each event's document; of a reply that is one document nobody says its end. */
  readonly eventEnds: () => void;
}

/** Begins with the reply; gets its bytes in pieces, of an event stream whole events. */
export function watchDocuments(
  framing: Framing,
  { root, eventEnds }: DocumentWatch,
): (bytes: Uint8Array) => void {
  if (framing !== 'sse') {
    const whole = stringLift(root);
    return (bytes) => {
      whole.write(bytes);
    };
  }
  return (bytes) => {
    for (const { data } of eventsIn(bytes)) {
      if (data === undefined) continue;
      stringLift(root).write(Buffer.from(data));
      eventEnds();
    }
  };
}
