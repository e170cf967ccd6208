/** Measures a native request and finds its media. */
import type { Body } from '../../bytes/body/body.ts';
import { kindAt, membersOf } from '../../bytes/json/read/members.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../../bytes/json/read/skip.ts';
import type { Member, Span } from '../../bytes/json/scan/scan.ts';
import { closeBrace, openBrace, openBracket, quote } from '../../bytes/json/text.ts';
import type { PromptSize } from '../../call.ts';
import { raiseAll, raisePart } from '../media-settings.ts';
import {
  addMediaString,
  addSealed,
  eachElement,
  inOtherShape,
  type MeasureBody,
  type PromptTally,
  presentValue,
  promptTally,
  sealOnlyModel,
  sizeOf,
  textsOf,
} from '../prompt-size.ts';
import { addReferences, addTopLevelReferences } from '../referenced-media.ts';

/** Measures a native request. */
export const measureGemini: MeasureBody = (body, members) => measureNative(body, members).size;

/** The media in one content, and the bytes of their payload. */
export function mediaOfContent(
  body: Body,
  start: number,
  at: string,
): Pick<PromptTally, 'media' | 'payloadBytes'> {
  const tally = promptTally(body);
  addContent(tally, start, at);
  return tally;
}

/** Measures a native request, and checks whether every element of `contents` is an object. */
export function measureNative(
  body: Body,
  members: readonly Member[],
): { readonly size: PromptSize; readonly hasObjects: boolean } {
  const { text } = body;
  const tally = promptTally(body);
  let elements = 0;
  for (const { name, value } of members) {
    if (name === 'contents' && kindAt(text, value) === 'array') {
      eachElement(text, value.start, (start, index) => {
        elements += 1;
        if (text[start] === openBrace) tally.messages += 1;
        const { sealedBytes } = tally;
        const end = addContent(tally, start, `contents[${index}]`);
        if (tally.sealedBytes !== sealedBytes) sealOnlyModel(tally, { start, end }, sealedBytes);
        return end;
      });
    } else if (name === 'systemInstruction' || name === 'system_instruction') {
      // Google reads only text here.
      inOtherShape(tally, () => addContent(tally, value.start, name));
    }
  }
  addTopLevelReferences(tally, members);
  raiseAll(tally, members);
  return { size: sizeOf(tally), hasObjects: tally.messages === elements };
}

/**
 * Returns the end of the content that begins at `start`. Google accepts a single part in place of a
 * list; other servers may take a list in place of an object.
 */
function addContent(tally: PromptTally, start: number, at: string): number {
  const { text } = tally.body;
  if (text[start] === openBracket) {
    return inOtherShape(tally, () =>
      eachElement(text, start, (one, index) => addContent(tally, one, `${at}[${index}]`)),
    );
  }
  if (text[start] !== openBrace) return skipValue(text, start);
  let next = firstInside(text, start);
  while (text[next] !== closeBrace) {
    const nameEnd = skipString(text, next);
    const value = afterName(text, nameEnd);
    const end = isString(text, next, nameEnd, 'parts')
      ? addParts(tally, value, () => `${at}.parts`)
      : skipValue(text, value);
    next = nextInside(text, end);
  }
  return next + 1;
}

/** Returns the end of the list of parts, or of the single part. A list may contain lists. */
function addParts(tally: PromptTally, start: number, at: () => string): number {
  const { text } = tally.body;
  if (text[start] !== openBracket) return addPart(tally, start, at);
  return eachElement(text, start, (part, index) => {
    const inside = (): string => `${at()}[${index}]`;
    if (text[part] !== openBracket) return addPart(tally, part, inside);
    return inOtherShape(tally, () => addParts(tally, part, inside));
  });
}

/** Members of a part that count as text. Any other member may reference media. */
const textMembers: readonly string[] = [
  'functionCall',
  'function_call',
  'toolCall',
  'tool_call',
  'toolResponse',
  'tool_response',
  'executableCode',
  'executable_code',
  'codeExecutionResult',
  'code_execution_result',
  'videoMetadata',
  'video_metadata',
  'partMetadata',
  'part_metadata',
];

/** Returns the end of the part that begins at `start`. */
function addPart(tally: PromptTally, start: number, at: () => string): number {
  const { text } = tally.body;
  if (text[start] !== openBrace) return skipValue(text, start);
  const mediaBefore = tally.media.length;
  let next = firstInside(text, start);
  while (text[next] !== closeBrace) {
    const nameEnd = skipString(text, next);
    const value = { start: afterName(text, nameEnd), end: 0 };
    value.end = skipValue(text, value.start);
    const is = (name: string, snake: string): boolean =>
      isString(text, next, nameEnd, name) || isString(text, next, nameEnd, snake);
    if (text[value.start] === openBrace) {
      if (is('inlineData', 'inline_data')) addBlob(tally, value, at());
      else if (is('fileData', 'file_data')) addFile(tally, value, at());
      else if (is('functionResponse', 'function_response')) addResult(tally, value, at());
      else if (!textMembers.some((name) => isString(text, next, nameEnd, name))) {
        addReferences(tally, { start: value.start, name: { start: next, end: nameEnd }, at });
      }
    } else if (text[value.start] === quote) {
      if (is('thoughtSignature', 'thought_signature')) addSealed(tally, value);
      else if (!isString(text, next, nameEnd, 'text')) {
        addReferences(tally, { start: value.start, name: { start: next, end: nameEnd }, at });
      }
    } else if (text[value.start] === openBracket) {
      addReferences(tally, { start: value.start, name: { start: next, end: nameEnd }, at });
    }
    next = nextInside(text, value.end);
  }
  if (tally.media.length > mediaBefore) raisePart(tally, { start, end: next + 1 }, mediaBefore);
  return next + 1;
}

function addBlob(tally: PromptTally, span: Span, at: string): void {
  const { text } = tally.body;
  const members = membersOf(text, span);
  const data = presentValue(text, members, 'data');
  if (data === undefined || text[data.start] !== quote) {
    addReferences(tally, { start: span.start, at: () => at, hasIdOnly: true });
    return;
  }
  const types = textsOf(text, members, 'mimeType', 'mime_type');
  addMediaString(tally, { span: data, at, types });
}

function addFile(tally: PromptTally, span: Span, at: string): void {
  const { text } = tally.body;
  const members = membersOf(text, span);
  const uri = presentValue(text, members, 'fileUri', 'file_uri');
  if (uri === undefined || text[uri.start] !== quote) {
    tally.media.push({ kind: 'reference', bytes: 0, at });
    return;
  }
  const types = textsOf(text, members, 'mimeType', 'mime_type');
  const isAddress = /^https?:/i.test(text.toString('latin1', uri.start + 1, uri.start + 8));
  if (isAddress) addMediaString(tally, { span: uri, at, types });
  else tally.media.push({ kind: 'reference', bytes: 0, at });
}

/** Since Gemini 3 a function result may have media next to its JSON. */
function addResult(tally: PromptTally, span: Span, at: string): void {
  const { text } = tally.body;
  const parts = presentValue(text, membersOf(text, span), 'parts');
  if (parts !== undefined) {
    addParts(tally, parts.start, () => `${at}.functionResponse.parts`);
  }
}
