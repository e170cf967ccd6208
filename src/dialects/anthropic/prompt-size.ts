/** Measures a Messages request and finds its media. */

import { findMember, kindAt, membersOf } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { Span } from '../../bytes/json/scan/scan.ts';
import { openBrace, openBracket, quote } from '../../bytes/json/text.ts';
import {
  addMediaString,
  addSealed,
  eachElement,
  type MeasureBody,
  type PromptTally,
  presentValue,
  promptTally,
  shortText,
  sizeOf,
  textsOf,
} from '../prompt-size.ts';

/** Measures a Messages request. */
export const measureAnthropic: MeasureBody = (body, members) => {
  const { text } = body;
  const tally = promptTally(body);
  const messages = findMember(members, 'messages');
  if (messages !== undefined && kindAt(text, messages.value) === 'array') {
    eachElement(text, messages.value.start, (start, index) => {
      const end = skipValue(text, start);
      if (text[start] !== openBrace) return end;
      tally.messages += 1;
      addContent(tally, { start, end }, `messages[${index}]`);
      return end;
    });
  }
  return sizeOf(tally);
};

/** Adds the blocks in the `content` of a message or of a tool result. */
function addContent(tally: PromptTally, holder: Span, at: string): void {
  const { text } = tally.body;
  const content = presentValue(text, membersOf(text, holder), 'content');
  if (content === undefined || text[content.start] !== openBracket) return;
  eachElement(text, content.start, (start, index) => {
    const end = skipValue(text, start);
    addBlock(tally, { start, end }, `${at}.content[${index}]`);
    return end;
  });
}

function addBlock(tally: PromptTally, span: Span, at: string): void {
  const { text } = tally.body;
  const members = membersOf(text, span);
  switch (shortText(text, presentValue(text, members, 'type'))) {
    case 'image':
      return addSource(tally, presentValue(text, members, 'source'), { at, types: [] });
    case 'document':
      // A URL without a media type must not be taken for an image.
      return addSource(tally, presentValue(text, members, 'source'), {
        at,
        types: ['application/pdf'],
      });
    case 'tool_result':
      return addContent(tally, span, at);
    case 'thinking':
      return addSealedMember(tally, presentValue(text, members, 'signature'));
    case 'redacted_thinking':
      return addSealedMember(tally, presentValue(text, members, 'data'));
    default:
  }
}

function addSealedMember(tally: PromptTally, span: Span | undefined): void {
  if (span !== undefined) addSealed(tally, span);
}

function addSource(
  tally: PromptTally,
  source: Span | undefined,
  { at, types }: { readonly at: string; readonly types: readonly string[] },
): void {
  if (source === undefined) return;
  const { text } = tally.body;
  const members = membersOf(text, source);
  const type = shortText(text, presentValue(text, members, 'type'));
  if (type === 'file') {
    tally.media.push({ kind: 'reference', bytes: 0, at, isFileId: true });
    return;
  }
  const span = presentValue(text, members, type === 'url' ? 'url' : 'data');
  if (span === undefined || text[span.start] !== quote || type === 'text') return;
  addMediaString(tally, { span, at, types: [...types, ...textsOf(text, members, 'media_type')] });
}
