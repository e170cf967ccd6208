/**
 * Inspects a large JSON reply while it streams: whether it is complete, the values of a few
 * members, the number of elements in one array, and the ids that later requests may name. Memory
 * use does not grow with the reply.
 */
import { asBuffer } from '../../decode.ts';
import { openBrace, openBracket, quote } from '../text.ts';
import { type JsonListener, jsonTokens, RangeCapture } from './tokens.ts';

const defaultCaptureLimitBytes = 16_384;

/** The longest name that is compared, in bytes as received, escapes and quotes included. */
const nameLimitBytes = 1024;

/**
 * What to look for in the members of the top-level object or, if the top level is an array, of each
 * of its elements.
 */
export interface JsonWatchOptions {
  /** The names of the members to capture. */
  readonly capture?: readonly string[];
  /** The longest text to capture of one member. Default: 16 KiB. */
  readonly captureLimitBytes?: number;
  /** Counts the elements of the array `array`, and those with a string member called `member`. */
  readonly countIn?: { readonly array: string; readonly member: string | undefined };
  /** Numbers in arrays are skipped unchecked; see `jsonTokens`. */
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
  /** The number of complete elements in the counted array. */
  readonly elements: number;
  /** How many of them have the string member. */
  readonly counted: number;
  /** The number of open containers. */
  readonly depth: number;
  /**
   * The top level is an open array and the position is between elements, so that one can be added.
   */
  readonly betweenElements: boolean;
  /** A comma is required before that element. */
  readonly commaDue: boolean;
}

/** Starts the inspection of one reply. */
export function jsonWatch(options: JsonWatchOptions = {}) {
  const members = new WatchedMembers(options);
  const tokens = jsonTokens(members, { skipsNumbers: options.skipsNumbers === true });
  return {
    write: (chunk: Uint8Array): void => {
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      members.endChunk(bytes);
    },
    /** The JSON text of a member that is complete. */
    captured: (name: string): string | undefined => members.captured(name),
    /** The report so far. May be called repeatedly, because a reply can break off at any time. */
    end: (): JsonWatchReport => {
      const isOpenArray =
        members.areInElements() && tokens.depth() === 1 && tokens.expected() !== 'nothing';
      return {
        complete: tokens.isWhole(),
        ...members.totals(),
        depth: tokens.depth(),
        betweenElements: isOpenArray && !tokens.inToken(),
        commaDue: isOpenArray && tokens.expected() === 'comma_or_end',
      };
    },
  };
}

/** Captures the members of one reply, and counts in one of them. */
class WatchedMembers implements JsonListener {
  readonly #wanted: ReadonlySet<string>;
  readonly #countIn: JsonWatchOptions['countIn'];
  readonly #captured = new Map<string, string>();
  readonly #text: RangeCapture;
  readonly #count: ReturnType<typeof elementCount>;
  readonly #name = new RangeCapture(nameLimitBytes);
  // The depth of the inspected members: 2 if they belong to the elements of an array.
  #base = 1;
  #memberName: string | undefined;
  #counting = false;

  constructor({ capture, captureLimitBytes, countIn }: JsonWatchOptions) {
    this.#wanted = new Set(capture);
    this.#countIn = countIn;
    this.#text = new RangeCapture(captureLimitBytes ?? defaultCaptureLimitBytes);
    this.#count = elementCount(countIn?.member);
  }

  nameBegins(at: number, depth: number): void {
    if (this.#isNamed(depth)) this.#name.begin(at);
  }

  nameEnds(chunk: Buffer, end: number, depth: number): void {
    if (!this.#isNamed(depth)) return;
    const found = this.#name.finishString(chunk, end);
    if (depth === this.#base) this.#memberName = found;
    else this.#count.name(found);
  }

  valueBegins(first: number, at: number, depth: number): void {
    if (depth === 0) this.#base = first === openBracket ? 2 : 1;
    const base = this.#base;
    if (depth === base - 1) this.#memberName = undefined;
    if (depth === base && this.#memberName !== undefined) {
      this.#captured.delete(this.#memberName);
      if (this.#wanted.has(this.#memberName)) this.#text.begin(at);
      const isCounted = this.#memberName === this.#countIn?.array;
      this.#counting = isCounted && first === openBracket;
      if (isCounted) this.#count.restart();
    }
    if (this.#counting && depth === base + 1) this.#count.elementBegins();
    if (this.#counting && depth === base + 2) this.#count.valueBegins(first);
  }

  valueEnds(chunk: Buffer, end: number, depth: number): void {
    if (this.#counting && depth === this.#base + 1) this.#count.elementEnds();
    if (depth !== this.#base) return;
    this.#counting = false;
    const whole = this.#text.finish(chunk, end);
    if (whole !== undefined && this.#memberName !== undefined) {
      this.#captured.set(this.#memberName, whole);
    }
  }

  endChunk(bytes: Buffer): void {
    this.#name.endChunk(bytes);
    this.#text.endChunk(bytes);
  }

  captured(name: string): string | undefined {
    return this.#captured.get(name);
  }

  areInElements(): boolean {
    return this.#base === 2;
  }

  totals(): Pick<JsonWatchReport, 'captured' | 'elements' | 'counted'> {
    return { captured: Object.fromEntries(this.#captured), ...this.#count.totals() };
  }

  /** Only the names of inspected members and of those of a counted element are needed. */
  #isNamed(depth: number): boolean {
    if (depth === this.#base) return true;
    return this.#counting && depth === this.#base + 2 && this.#countIn?.member !== undefined;
  }
}

/** Counts the elements of one array, and those with a string member called `member`. */
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
      if (name !== undefined && name === member) hasString = first === quote;
    },
    elementEnds(): void {
      elements += 1;
      if (hasString) counted += 1;
    },
    totals: () => ({ elements, counted }),
  };
}

/** Names and ids are short; a longer one is not read. */
const limitBytes = 1_024;
/** Far more elements than any real reply has. */
const maxElements = 10_000;

export function watchIds(listName: string) {
  const name = new RangeCapture(limitBytes);
  const text = new RangeCapture(limitBytes);
  const ids: string[] = [];
  // The last names and ids, by depth: the document's members have 1, those of an element 3.
  const names: (string | undefined)[] = [];
  const found: (string | undefined)[] = [];
  let isDocument = false;
  let isInList = false;
  let isObject = false;

  const isNamed = (depth: number): boolean => depth === 1 || (isInList && isObject && depth === 3);
  const isId = (depth: number): boolean => isDocument && isNamed(depth) && names[depth] === 'id';

  const tokens = jsonTokens({
    nameBegins: (at, depth) => {
      if (isNamed(depth)) name.begin(at);
    },
    nameEnds: (chunk, end, depth) => {
      if (isNamed(depth)) names[depth] = name.finishString(chunk, end);
    },
    valueBegins: (first, at, depth) => {
      if (depth === 0) isDocument = first === openBrace;
      if (depth === 1) isInList = isDocument && names[1] === listName && first === openBracket;
      if (depth === 2) {
        isObject = first === openBrace;
        found[3] = undefined;
      }
      if (first === quote && isId(depth)) text.begin(at);
    },
    valueEnds: (chunk, end, depth) => {
      if (isId(depth)) found[depth] = text.finishString(chunk, end);
      const id = found[3];
      if (depth === 2 && isInList && id !== undefined && ids.length < maxElements) ids.push(id);
      if (depth === 1) isInList = false;
    },
  });
  return {
    write: (chunk: Uint8Array): void => {
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      name.endChunk(bytes);
      text.endChunk(bytes);
    },
    /** The member `id` of the document. */
    own: () => found[1],
    /** The members `id` of the elements that are complete. */
    ofElements: (): readonly string[] => ids,
  };
}
