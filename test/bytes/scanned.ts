/** Scans bodies for tests, and lists what a tape holds. */
import { wholeBody } from '../../src/bytes/body/body.ts';
import { scanBody } from '../../src/bytes/json/scan/body.ts';
import { root, type Tape, type Value } from '../../src/bytes/json/tape.ts';
import type { Span } from '../../src/bytes/json/text.ts';

/** The tape of a text, without elisions. */
export function tapeOf(text: string | Uint8Array): Tape {
  return scanBody(wholeBody(Buffer.from(text)));
}

/** The tape of a value as JSON. */
export function tapeOfJson(value: object): Tape {
  return tapeOf(JSON.stringify(value));
}

/** A member as a test compares it. */
export interface FoundMember {
  readonly name: string;
  readonly nameSpan: Span;
  readonly value: Span;
}

/** The members of an object; of the whole text if none is named. */
export function membersIn(tape: Tape, object: Value = root): readonly FoundMember[] {
  return tape.members(object).map((value) => ({
    name: tape.name(value),
    nameSpan: { start: tape.nameStart(value), end: tape.nameEnd(value) },
    value: spanOf(tape, value),
  }));
}

/** Where a value is in its text. */
function spanOf(tape: Tape, value: Value): Span {
  return { start: tape.start(value), end: tape.end(value) };
}
