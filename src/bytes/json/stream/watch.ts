/**
 * Inspects a large JSON reply while it streams: whether it is complete, the values of a few
 * members, and the number of elements in one array. Memory use does not grow with the reply.
 */
import { asBuffer } from '../../decode.ts';
import { openBracket, quote } from '../text.ts';
import { RangeCapture } from './range-capture.ts';
import { type JsonListener, jsonTokens } from './tokens.ts';

const defaultCaptureLimitBytes = 16_384;

/** The longest name that is compared, in bytes as received, escapes and quotes included. */
const nameLimitBytes = 1024;

/**
 * What to look for in the members of the top-level object or, if the top level is an array, of each
 * of its elements.
 */
export interface JsonWatchOptions {
  readonly capture?: readonly string[];
  /** The longest text to capture of one member. Default: 16 KiB. */
  readonly captureLimitBytes?: number;
  /** Counts the elements of the array `array`, and those with a string member called `member`. */
  readonly countIn?: { readonly array: string; readonly member: string };
  /** Numbers in arrays are skipped unchecked; see `TokenOptions`. */
  readonly skipsNumbers?: boolean;
}

/** The state of the reply so far. It does not depend on how the reply was cut into chunks. */
export interface JsonWatchReport {
  /** One complete value has been received, followed by nothing but white space. */
  readonly complete: boolean;
  /**
   * The JSON text of complete members, by name; the last one of a name wins, as in `JSON.parse`.
   */
  readonly captured: Readonly<Record<string, string | undefined>>;
  readonly elements: number;
  readonly counted: number;
  readonly depth: number;
  /** The top level is an open array, between elements, so that one can be added. */
  readonly betweenElements: boolean;
  /** A comma is required before that element. */
  readonly commaDue: boolean;
}

export interface JsonWatch {
  write(chunk: Uint8Array): void;
  /** The report so far. May be called at any time and repeatedly, because a reply can break off. */
  end(): JsonWatchReport;
}

export function jsonWatch(options: JsonWatchOptions = {}): JsonWatch {
  const wanted = new Set(options.capture);
  const captured = new Map<string, string>();
  const text = new RangeCapture(options.captureLimitBytes ?? defaultCaptureLimitBytes);
  const count = elementCount(options.countIn?.member);
  const name = new RangeCapture(nameLimitBytes);
  // The depth of the inspected members: 2 if they belong to the elements of an array.
  let base = 1;
  let memberName: string | undefined;
  let counting = false;

  /** Only the names of inspected members and of those of a counted element are needed. */
  const isNamed = (depth: number) => depth === base || (counting && depth === base + 2);

  const listener: JsonListener = {
    nameBegins(at, depth) {
      if (isNamed(depth)) name.begin(at);
    },
    nameEnds(chunk, end, depth) {
      if (!isNamed(depth)) return;
      const found = name.finishString(chunk, end);
      if (depth === base) memberName = found;
      else count.name(found);
    },
    valueBegins(first, at, depth) {
      if (depth === 0) base = first === openBracket ? 2 : 1;
      if (depth === base - 1) memberName = undefined;
      if (depth === base && memberName !== undefined) {
        captured.delete(memberName);
        if (wanted.has(memberName)) text.begin(at);
        counting = memberName === options.countIn?.array && first === openBracket;
        if (memberName === options.countIn?.array) count.restart();
      }
      if (counting && depth === base + 1) count.elementBegins();
      if (counting && depth === base + 2) count.valueBegins(first);
    },
    valueEnds(chunk, end, depth) {
      if (counting && depth === base + 1) count.elementEnds();
      if (depth !== base) return;
      counting = false;
      const whole = text.finish(chunk, end);
      if (whole !== undefined && memberName !== undefined) captured.set(memberName, whole);
    },
  };
  const tokens = jsonTokens(listener, { skipsNumbers: options.skipsNumbers === true });

  return {
    write(chunk) {
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      name.endChunk(bytes);
      text.endChunk(bytes);
    },
    end() {
      const isOpenArray = base === 2 && tokens.depth() === 1 && tokens.expected() !== 'nothing';
      return {
        complete: tokens.isWhole(),
        captured: Object.fromEntries(captured),
        ...count.totals(),
        depth: tokens.depth(),
        betweenElements: isOpenArray && !tokens.inToken(),
        commaDue: isOpenArray && tokens.expected() === 'comma_or_end',
      };
    },
  };
}

function elementCount(member: string | undefined) {
  let elements = 0;
  let counted = 0;
  let name: string | undefined;
  let hasString = false;

  return {
    restart(): void {
      elements = 0;
      counted = 0;
    },
    elementBegins(): void {
      name = undefined;
      hasString = false;
    },
    name(found: string | undefined): void {
      name = found;
    },
    valueBegins(first: number): void {
      if (name === member) hasString = first === quote;
    },
    elementEnds(): void {
      elements += 1;
      if (hasString) counted += 1;
    },
    totals: () => ({ elements, counted }),
  };
}
