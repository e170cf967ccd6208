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

export interface StreamLog extends EventLog {
  take(): string;
  nextNumber(): number;
}

export function streamLog(): StreamLog {
  let text = '';
  let next = 0;
  return {
    add: (type, members) => {
      text += `${beginning(type)}${next},${members}}\n\n`;
      next += 1;
    },
    repeated: (type, members) => {
      const before = beginning(type);
      const after = `,${members},"delta":`;
      return (delta) => {
        text += `${before}${next}${after}${quotedLine(delta)}}\n\n`;
        next += 1;
      };
    },
    take: () => {
      const taken = text;
      text = '';
      return taken;
    },
    nextNumber: () => next,
  };
}

function beginning(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
}

/** A whole reply is made from the same items, but has no events. */
export const noEvents: EventLog = { add: () => {}, repeated: () => () => {} };
