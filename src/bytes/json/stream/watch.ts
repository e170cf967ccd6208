/**
 * Watches a big JSON reply that streams past: whether it is whole, what a few of its members say,
 * and how many elements one array has. The memory it needs does not grow with the reply.
 */
import { parseJson } from '../../../json.ts';
import { asBuffer } from '../../decode.ts';
import { openBracket, quote } from '../text.ts';
import { passage } from './passage.ts';
import { jsonTokens } from './tokens.ts';

const defaultCaptureLimitBytes = 16_384;

/** The longest name that is compared, in bytes as sent, escapes and quotes included. */
const nameLimitBytes = 1024;

/**
 * What to look for among the members of the top-level object; where the top level is an array,
 * among the members of each of its elements.
 */
export interface JsonWatchOptions {
  /** The names of members whose text is kept. */
  readonly capture?: readonly string[];
  /** The longest text that is kept of one member: 16 KiB if left out. */
  readonly captureLimitBytes?: number;
  /** Count the elements of the array `array`, and those that have a string called `member`. */
  readonly countIn?: { readonly array: string; readonly member: string };
}

/** What is known at the moment it is asked for. It does not depend on how the reply was cut up. */
export interface JsonWatchReport {
  /** One whole value came, and nothing but white space after it. */
  readonly complete: boolean;
  /** JSON text by member, of whole members only; the last one of a name, like `JSON.parse`. */
  readonly captured: Readonly<Record<string, string | undefined>>;
  /** How many whole elements the counted array has. */
  readonly elements: number;
  /** How many of them have the string. */
  readonly counted: number;
  /** How many containers are open. */
  readonly depth: number;
  /** The top level is an open array and no element of it is under way, so that one can be added. */
  readonly betweenElements: boolean;
  /** Before that element a comma is due. */
  readonly commaDue: boolean;
}

/** A reply being watched. */
export interface JsonWatch {
  write(chunk: Uint8Array): void;
  /** May be asked at any moment and more than once: a reply can also break off. */
  end(): JsonWatchReport;
}

/** Begins to watch one reply. */
export function jsonWatch(options: JsonWatchOptions = {}): JsonWatch {
  const wanted = new Set(options.capture);
  const captured = new Map<string, string>();
  const text = passage(options.captureLimitBytes ?? defaultCaptureLimitBytes);
  const count = elementCount(options.countIn?.member);
  const name = passage(nameLimitBytes);
  // How deep the watched members lie: 2 where they are those of the elements of an array.
  let base = 1;
  let memberName: string | undefined;
  let counting = false;

  /** Only the names of watched members and of those of a counted element matter. */
  const isNamed = (depth: number) => depth === base || (counting && depth === base + 2);

  const tokens = jsonTokens({
    nameBegins(at, depth) {
      if (isNamed(depth)) name.begin(at);
    },
    nameEnds(chunk, end, depth) {
      if (!isNamed(depth)) return;
      const found = decoded(name.finish(chunk, end));
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
  });

  return {
    write(chunk) {
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      name.carry(bytes);
      text.carry(bytes);
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

/** Counts the elements of one array, and those with a string called `member`. */
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

/** The string that JSON text stands for; undefined where it is none. */
function decoded(text: string | undefined): string | undefined {
  const value = text === undefined ? undefined : parseJson(text);
  return typeof value === 'string' ? value : undefined;
}
