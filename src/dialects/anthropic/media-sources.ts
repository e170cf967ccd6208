/** Finds the media in the `source` of a block, in Anthropic's shape and in others. */
import { membersOf } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { Member, Span } from '../../bytes/json/scan/scan.ts';
import { openBrace, openBracket, quote } from '../../bytes/json/text.ts';
import {
  addFileId,
  addMediaString,
  asTextToo,
  eachElement,
  type PromptTally,
  presentValue,
  shortText,
  textsOf,
} from '../prompt-size.ts';
import { addReferences } from '../referenced-media.ts';

/** How to count a source. */
export interface SourceContext {
  /** The path of the block, which its media are named by. */
  readonly at: string;
  /** The path of the source. */
  readonly path: string;
  /** The media types that the type of the block implies. */
  readonly types: readonly string[];
  /** Counts the blocks of which a document consists. `isRead`: the provider reads blocks here. */
  readonly addBlocks: (blocks: Span, at: string, isRead: boolean) => void;
}

/** Counts a source. Some servers may accept a list of sources. */
export function addSource(tally: PromptTally, span: Span, context: SourceContext): void {
  const { text } = tally.body;
  const { at, path } = context;
  if (text[span.start] === openBrace) return addObject(tally, span, context);
  asTextToo(tally, () => {
    if (text[span.start] !== openBracket) {
      return addReferences(tally, { start: span.start, at: () => at, hasIdOnly: true });
    }
    return eachElement(text, span.start, (start, index) => {
      const end = skipValue(text, start);
      addSource(tally, { start, end }, { ...context, path: `${path}[${index}]` });
      return end;
    });
  });
}

function addObject(tally: PromptTally, span: Span, context: SourceContext): void {
  const { at, path, types, addBlocks } = context;
  const { text } = tally.body;
  const members = membersOf(text, span);
  const type = shortText(text, presentValue(text, members, 'type'));
  const counted = [...addFileOf(tally, members, path)];
  if (type === 'file' && counted.length === 0) {
    tally.media.push({ kind: 'reference', bytes: 0, isFileId: true, at: `${path}.file_id` });
  }
  const content = presentValue(text, members, 'content');
  if (content !== undefined) addBlocks(content, `${path}.content`, type === 'content');
  const payload = presentValue(text, members, type === 'url' ? 'url' : 'data');
  if (payload !== undefined && text[payload.start] === quote) {
    counted.push(payload.start);
    const stated = [...types, ...textsOf(text, members, 'media_type')];
    if (type !== 'text') {
      const { payloadBytes } = tally;
      addMediaString(tally, { span: payload, at, types: stated });
      // Of a source of another type, a server may read the payload as text.
      if (type !== 'base64' && type !== 'url') tally.payloadBytes = payloadBytes;
    }
  } else if (type === 'url') {
    // A server that reads another form of URL fetches what it names.
    tally.media.push({ kind: 'reference', bytes: 0, at: `${path}.url` });
  }
  addOtherMembers(tally, { span, members, at, counted, walked: [content] });
}

/**
 * Counts the `file_id` of an object; returns where it starts, if it is one string, so that it does
 * not count again.
 */
export function addFileOf(
  tally: PromptTally,
  members: readonly Member[],
  at: string,
): readonly number[] {
  const fileId = presentValue(tally.body.text, members, 'file_id');
  if (fileId === undefined) return [];
  addFileId(tally, fileId, at);
  return [fileId.start];
}

/** An object whose best known members have been counted. */
interface Counted {
  readonly span: Span;
  readonly members: readonly Member[];
  readonly at: string;
  /** Start offsets of strings that were counted. */
  readonly counted: readonly number[];
  /** Values that were counted with everything in them, if they are objects or lists. */
  readonly walked: readonly (Span | undefined)[];
}

/** Counts what the other members of an object refer to. */
export function addOtherMembers(
  tally: PromptTally,
  { span, members, at, counted, walked }: Counted,
): void {
  const { text } = tally.body;
  const done = walked.filter(
    (one) =>
      one !== undefined && (text[one.start] === openBrace || text[one.start] === openBracket),
  );
  if (done.length === 0) {
    const hasIdOnly = counted.length === 0;
    addReferences(tally, { start: span.start, at: () => at, counted, hasIdOnly });
    return;
  }
  for (const { nameSpan, value } of members) {
    if (done.some((one) => one?.start === value.start)) continue;
    addReferences(tally, { start: value.start, name: nameSpan, at: () => at, counted });
  }
}
