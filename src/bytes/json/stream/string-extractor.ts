/**
 * Extracts values from a large JSON document while it streams: small values as text, and the
 * contents of long strings chunk by chunk. Memory use does not grow with the document.
 */
import { parseJson } from '../../../json.ts';
import { asBuffer } from '../../decode.ts';
import { openBrace, openBracket, quote } from '../text.ts';
import { type JsonListener, jsonTokens, RangeCapture } from './tokens.ts';

/** The longest name that is compared, in bytes as received, escapes and quotes included. */
const nameLimitBytes = 1024;
const defaultTextLimitBytes = 16_384;

/** What to extract from the value at one position of a document; all members are optional. */
export interface ExtractionRule {
  /** Called when the value begins, whatever its kind. */
  readonly onBegin?: () => void;
  /** The rules for the members, if the value is an object. */
  readonly members?: Readonly<Record<string, ExtractionRule>>;
  /** The rule for every element, if the value is an array. */
  readonly elements?: ExtractionRule;
  /**
   * Receives the JSON text of the whole value, or undefined if it is longer than the limit. The
   * rules for its members and elements are then ignored.
   */
  readonly text?: (json: string | undefined) => void;
  /** Receives the contents of the value, if it is a string. */
  readonly string?: StringSink;
}

/** Receives strings one at a time, chunk by chunk. */
export interface StringSink {
  /** A string begins. Returns whether its contents are wanted. */
  begin(): boolean;
  /**
   * The next bytes, with escapes as received, so that they can be copied into another JSON string.
   * A view of the chunk being written.
   */
  write(bytes: Uint8Array): void;
  /** The closing quote has been received. */
  end(): void;
}

/** The extraction from one document. */
export interface StringExtractor {
  write(chunk: Uint8Array): void;
  /** One complete value has been received, followed by nothing but white space. */
  isWhole(): boolean;
}

/**
 * Starts the extraction from one document. The result does not depend on how it is cut into chunks.
 *
 * @param textLimitBytes a longer text of a value is not kept. Default: 16 KiB
 */
export function stringExtractor(
  root: ExtractionRule,
  textLimitBytes: number = defaultTextLimitBytes,
): StringExtractor {
  const extraction = new Extraction(root, textLimitBytes);
  const tokens = jsonTokens(extraction);
  return {
    write: (chunk) => {
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      extraction.endChunk(bytes);
    },
    isWhole: tokens.isWhole,
  };
}

/** Follows the tokens of the document. */
class Extraction implements JsonListener {
  readonly #root: ExtractionRule;
  readonly #name = new RangeCapture(nameLimitBytes);
  readonly #text: RangeCapture;
  // By depth: the rules for the open containers.
  readonly #members: ExtractionRule['members'][] = [];
  readonly #elements: (ExtractionRule | undefined)[] = [];
  #namedRule: ExtractionRule | undefined;
  #captured:
    | { readonly sink: (json: string | undefined) => void; readonly depth: number }
    | undefined;
  #stringSink: StringSink | undefined;
  /** The offset in the current chunk of the string's bytes that have not been passed on. */
  #from = 0;

  constructor(root: ExtractionRule, textLimitBytes: number) {
    this.#root = root;
    this.#text = new RangeCapture(textLimitBytes);
  }

  nameBegins(at: number, depth: number): void {
    if (this.#members[depth - 1] !== undefined) this.#name.begin(at);
  }

  nameEnds(chunk: Buffer, end: number, depth: number): void {
    const wanted = this.#members[depth - 1];
    this.#namedRule = wanted && ruleForName(wanted, this.#name.finish(chunk, end));
  }

  valueBegins(first: number, at: number, depth: number): void {
    const rule = this.#ruleAt(depth);
    const innerRule = rule?.text === undefined ? rule : undefined;
    this.#members[depth] = first === openBrace ? innerRule?.members : undefined;
    this.#elements[depth] = first === openBracket ? innerRule?.elements : undefined;
    if (rule === undefined) return;
    rule.onBegin?.();
    if (rule.text !== undefined) {
      this.#captured = { sink: rule.text, depth };
      this.#text.begin(at);
    }
    if (first === quote && rule.string?.begin()) {
      this.#stringSink = rule.string;
      this.#from = at + 1;
    }
  }

  valueEnds(chunk: Buffer, end: number, depth: number): void {
    if (this.#stringSink !== undefined) {
      this.#stringSink.write(chunk.subarray(this.#from, end - 1));
      this.#stringSink.end();
      this.#stringSink = undefined;
    }
    if (this.#captured?.depth !== depth) return;
    this.#captured.sink(this.#text.finish(chunk, end));
    this.#captured = undefined;
  }

  endChunk(bytes: Buffer): void {
    this.#name.endChunk(bytes);
    this.#text.endChunk(bytes);
    this.#stringSink?.write(bytes.subarray(this.#from));
    this.#from = 0;
  }

  #ruleAt(depth: number): ExtractionRule | undefined {
    const rule = depth === 0 ? this.#root : (this.#elements[depth - 1] ?? this.#namedRule);
    this.#namedRule = undefined;
    return rule;
  }
}

function ruleForName(
  rules: Readonly<Record<string, ExtractionRule>>,
  text: string | undefined,
): ExtractionRule | undefined {
  const name = text === undefined ? undefined : parseJson(text);
  return typeof name === 'string' && Object.hasOwn(rules, name) ? rules[name] : undefined;
}
