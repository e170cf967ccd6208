/** Measures a Messages request and finds its media. */

import type { Body } from '../../bytes/body/body.ts';
import { findMember, kindAt, membersOf } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { Member, Span } from '../../bytes/json/scan/scan.ts';
import { openBrace, openBracket, quote } from '../../bytes/json/text.ts';
import type { PromptSize } from '../../call.ts';
import {
  addFileId,
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
export const measureAnthropic: MeasureBody = (body, members) => measureMessages(body, members).size;

/** Measures a request and returns whether every message is an object with a string `role`. */
export function measureMessages(
  body: Body,
  members: readonly Member[],
): { readonly size: PromptSize; readonly hasRoles: boolean } {
  const { text } = body;
  const tally = promptTally(body);
  let hasRoles = true;
  const messages = findMember(members, 'messages');
  if (messages !== undefined && kindAt(text, messages.value) === 'array') {
    eachElement(text, messages.value.start, (start, index) => {
      const end = skipValue(text, start);
      const isObject = text[start] === openBrace;
      const inside = isObject ? membersOf(text, { start, end }) : [];
      const role = findMember(inside, 'role');
      hasRoles &&= role !== undefined && text[role.value.start] === quote;
      if (!isObject) return end;
      tally.messages += 1;
      addContent(tally, inside, `messages[${index}]`);
      return end;
    });
  }
  return { size: sizeOf(tally), hasRoles };
}

/** Adds the blocks in the `content` of a message, a tool result or a document. */
function addContent(tally: PromptTally, holder: readonly Member[], at: string): void {
  const { text } = tally.body;
  const content = presentValue(text, holder, 'content');
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
      return addContent(tally, members, at);
    case 'container_upload': {
      const id = presentValue(text, members, 'file_id');
      if (id !== undefined) addFileId(tally, id, at);
      return;
    }
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
    const reference = { kind: 'reference', bytes: 0, isFileId: true } as const;
    tally.media.push({ ...reference, at: `${at}.source.file_id` });
    return;
  }
  // A document may consist of blocks.
  if (type === 'content') return addContent(tally, members, `${at}.source`);
  const span = presentValue(text, members, type === 'url' ? 'url' : 'data');
  if (span === undefined || text[span.start] !== quote) {
    // A server that reads another form of URL fetches what it names.
    if (type === 'url') tally.media.push({ kind: 'reference', bytes: 0, at: `${at}.source.url` });
    return;
  }
  if (type === 'text') return;
  addMediaString(tally, { span, at, types: [...types, ...textsOf(text, members, 'media_type')] });
}
