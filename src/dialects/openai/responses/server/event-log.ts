/**
 * Writes the events of a Responses stream. One counter numbers all of them, because clients sort
 * and deduplicate by `sequence_number`.
 */
import { quotedLine } from '../../../../canonical/raw-json.ts';

export interface EventLog {
  /** Adds an event; `members` is the JSON text of its members, without a line break. */
  add(type: string, members: string): void;
  /** Its constant text is made once, so that a delta costs one `JSON.stringify` of its string. */
  repeated(type: string, members: string): (delta: string) => void;
}

export class StreamLog implements EventLog {
  #text = '';
  #next = 0;

  add(type: string, members: string): void {
    this.#text += `${beginning(type)}${this.#next},${members}}\n\n`;
    this.#next += 1;
  }

  repeated(type: string, members: string): (delta: string) => void {
    const before = beginning(type);
    const after = `,${members},"delta":`;
    return (delta) => {
      this.#text += `${before}${this.#next}${after}${quotedLine(delta)}}\n\n`;
      this.#next += 1;
    };
  }

  take(): string {
    const taken = this.#text;
    this.#text = '';
    return taken;
  }

  nextNumber(): number {
    return this.#next;
  }
}

function beginning(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
}

/** A whole reply is made from the same items, but has no events. */
export const noEvents: EventLog = { add: () => {}, repeated: () => () => {} };
