/** Finds what differs between the deltas of a block in a Messages stream. */
import { parseBounded } from '../../bounded-json.ts';
import { parseEvent } from '../../bytes/sse.ts';
import { stringEnd } from '../../json-strings.ts';
import type { DeltaParts } from '../delta-template.ts';
import { addReplyContent } from '../reply-content.ts';

/** The members that hold the content of a `content_block_delta`. */
const contentMember = /[{,]\s*"(?:text|thinking|partial_json)"\s*:\s*"/;
/** Replaces the content of an event, so that the rest of the event can be examined. */
const probe = 'probe';
const eventEnd = '}\n\n';

/**
 * Finds the content of a delta, and the spaces before its last brace, by which Anthropic hides the
 * length of the content.
 */
export function messagesDeltaParts(event: string): DeltaParts | undefined {
  const match = contentMember.exec(event);
  if (match === null) return undefined;
  const start = match.index + match[0].length;
  const end = stringEnd(event, start);
  const reasoning = reasoningAround(event.slice(0, start), event.slice(end));
  if (reasoning === undefined) return undefined;
  const close = event.length - eventEnd.length;
  let spaces = close;
  while (event.charCodeAt(spaces - 1) === 0x20) spaces -= 1;
  return {
    parts: [
      { kind: 'content', start, end },
      { kind: 'spaces', start: spaces, end: close },
    ],
    reasoning,
  };
}

/**
 * The member that holds the content between these two texts if it is reasoning, else ''; undefined
 * if the event has other content, or a member of the same name hides this one.
 */
function reasoningAround(before: string, after: string): string | undefined {
  const [only, ...others] = contentOf(before + probe + after);
  const isAlone = others.length === 0 && contentOf(before + after).length === 0;
  return isAlone && only?.bytes === probe.length ? only.reasoning : undefined;
}

interface FoundContent {
  /** -1 for other content than text. */
  readonly bytes: number;
  readonly reasoning: string;
}

function contentOf(event: string): readonly FoundContent[] {
  const { data = '' } = parseEvent(Buffer.from(event, 'latin1'), 0);
  const found: FoundContent[] = [];
  const addOther = (): unknown => found.push({ bytes: -1, reasoning: '' });
  addReplyContent(parseBounded(data) ?? null, {
    addBytes: (bytes, reasoning) => {
      if (bytes > 0) found.push({ bytes, reasoning });
    },
    addTokens: addOther,
    addSealed: addOther,
    addUnknown: addOther,
  });
  return found;
}

/**
 * Content that must be parsed: a data URL, which counts as an image, however it is escaped, and
 * what may not be valid JSON.
 */
const unusual = /^data:|^[dat]{0,4}\\u|[^ -\xff]|\\(?!["\\/bfnrt]|u[\da-fA-F]{4})/;

/** Whether the string from `start` to `end` is valid JSON and counts by its length. */
export function isPlainContent(text: string, start: number, end: number): boolean {
  return !unusual.test(text.slice(start, end));
}
