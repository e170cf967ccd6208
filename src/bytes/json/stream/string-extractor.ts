/**
 * Extracts values from a large JSON document while it streams: small values as text, and the
 * contents of long strings chunk by chunk. Memory use does not grow with the document.
 */
import { asBuffer } from '../../decode.ts';
import { openBrace, openBracket, quote } from '../text.ts';
import { RangeCapture } from './range-capture.ts';
import { jsonTokens } from './tokens.ts';

/** The longest name that is compared, in bytes as received, escapes and quotes included. */
const nameLimitBytes = 1024;
const defaultTextLimitBytes = 16_384;

export interface ExtractionRule {
  readonly onBegin?: () => void;
  readonly members?: Readonly<Record<string, ExtractionRule>>;
  readonly elements?: ExtractionRule;
  /**
   * Receives the JSON text of the whole value, or undefined if it is longer than the limit. The
   * rules for its members and elements are then ignored.
   */
  readonly text?: (json: string | undefined) => void;
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
  end(): void;
}

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
  const name = new RangeCapture(nameLimitBytes);
  const text = new RangeCapture(textLimitBytes);
  // By depth: the rules for the open containers.
  const members: ExtractionRule['members'][] = [];
  const elements: (ExtractionRule | undefined)[] = [];
  let namedRule: ExtractionRule | undefined;
  let captured:
    | { readonly sink: (json: string | undefined) => void; readonly depth: number }
    | undefined;
  let stringSink: StringSink | undefined;
  /** The offset in the current chunk of the string's bytes that have not been passed on. */
  let from = 0;

  const ruleAt = (depth: number): ExtractionRule | undefined => {
    const rule = depth === 0 ? root : (elements[depth - 1] ?? namedRule);
    namedRule = undefined;
    return rule;
  };

  const tokens = jsonTokens({
    nameBegins(at, depth) {
      if (members[depth - 1] !== undefined) name.begin(at);
    },
    nameEnds(chunk, end, depth) {
      const wanted = members[depth - 1];
      namedRule = wanted && ruleForName(wanted, name.finishString(chunk, end));
    },
    valueBegins(first, at, depth) {
      const rule = ruleAt(depth);
      const innerRule = rule?.text === undefined ? rule : undefined;
      members[depth] = first === openBrace ? innerRule?.members : undefined;
      elements[depth] = first === openBracket ? innerRule?.elements : undefined;
      if (rule === undefined) return;
      rule.onBegin?.();
      if (rule.text !== undefined) {
        captured = { sink: rule.text, depth };
        text.begin(at);
      }
      if (first === quote && rule.string?.begin()) {
        stringSink = rule.string;
        from = at + 1;
      }
    },
    valueEnds(chunk, end, depth) {
      if (stringSink !== undefined) {
        stringSink.write(chunk.subarray(from, end - 1));
        stringSink.end();
        stringSink = undefined;
      }
      if (captured?.depth !== depth) return;
      captured.sink(text.finish(chunk, end));
      captured = undefined;
    },
  });

  return {
    write(chunk) {
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      name.endChunk(bytes);
      text.endChunk(bytes);
      stringSink?.write(bytes.subarray(from));
      from = 0;
    },
    isWhole: tokens.isWhole,
  };
}

function ruleForName(
  rules: Readonly<Record<string, ExtractionRule>>,
  name: string | undefined,
): ExtractionRule | undefined {
  return name !== undefined && Object.hasOwn(rules, name) ? rules[name] : undefined;
}
