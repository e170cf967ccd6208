/**
 * Reads a big JSON document as it streams past: keeps the text of small values at chosen places and
 * hands on the inside of long strings in pieces. What it holds does not grow with the document.
 */
import { parseJson } from '../../../json.ts';
import { asBuffer } from '../../decode.ts';
import { openBrace, openBracket, quote } from '../text.ts';
import { passage } from './passage.ts';
import { jsonTokens } from './tokens.ts';

/** The longest name that is compared, in bytes as sent, escapes and quotes included. */
const nameLimitBytes = 1024;
const textLimitBytes = 16_384;

/** What is wanted of the value at one place of a document; all may be left out. */
export interface LiftPlace {
  /** The value begins, whatever it is. */
  readonly begins?: () => void;
  /** The places of the members, where the value is an object. */
  readonly members?: Readonly<Record<string, LiftPlace>>;
  /** The place of every element, where the value is an array. */
  readonly elements?: LiftPlace;
  /**
   * Gets the JSON text of the whole value, undefined where it is longer than 16 KiB. Members and
   * elements of such a place are not looked at.
   */
  readonly text?: (json: string | undefined) => void;
  /** Gets what stands between the quotes, where the value is a string. */
  readonly string?: StringSink;
}

/** Takes one string at a time, as its bytes come. */
export interface StringSink {
  /** A string begins; whether it is wanted. */
  begins(): boolean;
  /**
   * The next bytes, escapes as they were sent, so that they may stand in another JSON string as
   * they are. A view of the chunk being written.
   */
  piece(bytes: Uint8Array): void;
  /** The closing quote has come. */
  ends(): void;
}

/** A document under way. */
export interface StringLift {
  write(chunk: Uint8Array): void;
  /** One whole value came, and nothing but white space after it. */
  isWhole(): boolean;
}

/** Begins one document; what its places hear does not depend on how it is cut into chunks. */
export function stringLift(root: LiftPlace): StringLift {
  const name = passage(nameLimitBytes);
  const text = passage(textLimitBytes);
  // By depth: what is wanted inside of the containers that are open.
  const members: LiftPlace['members'][] = [];
  const elements: (LiftPlace | undefined)[] = [];
  let named: LiftPlace | undefined;
  let kept:
    | { readonly sink: (json: string | undefined) => void; readonly depth: number }
    | undefined;
  let lifted: StringSink | undefined;
  /** Where the unsent rest of the lifted string begins in the present chunk. */
  let from = 0;

  const takePlace = (depth: number): LiftPlace | undefined => {
    const place = depth === 0 ? root : (elements[depth - 1] ?? named);
    named = undefined;
    return place;
  };

  const tokens = jsonTokens({
    nameBegins(at, depth) {
      if (members[depth - 1] !== undefined) name.begin(at);
    },
    nameEnds(chunk, end, depth) {
      const wanted = members[depth - 1];
      named = wanted && placeNamed(wanted, name.finish(chunk, end));
    },
    valueBegins(first, at, depth) {
      const place = takePlace(depth);
      const inside = place?.text === undefined ? place : undefined;
      members[depth] = first === openBrace ? inside?.members : undefined;
      elements[depth] = first === openBracket ? inside?.elements : undefined;
      if (place === undefined) return;
      place.begins?.();
      if (place.text !== undefined) {
        kept = { sink: place.text, depth };
        text.begin(at);
      }
      if (first === quote && place.string?.begins()) {
        lifted = place.string;
        from = at + 1;
      }
    },
    valueEnds(chunk, end, depth) {
      if (lifted !== undefined) {
        lifted.piece(chunk.subarray(from, end - 1));
        lifted.ends();
        lifted = undefined;
      }
      if (kept?.depth !== depth) return;
      kept.sink(text.finish(chunk, end));
      kept = undefined;
    },
  });

  return {
    write(chunk) {
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      name.carry(bytes);
      text.carry(bytes);
      lifted?.piece(bytes.subarray(from));
      from = 0;
    },
    isWhole: tokens.isWhole,
  };
}

function placeNamed(
  places: Readonly<Record<string, LiftPlace>>,
  text: string | undefined,
): LiftPlace | undefined {
  const name = text === undefined ? undefined : parseJson(text);
  return typeof name === 'string' && Object.hasOwn(places, name) ? places[name] : undefined;
}
