/** Measures a native request and finds its media. */
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { PromptSize } from '../../call.ts';
import { raiseAll, raisePart } from '../measure/media-settings.ts';
import {
  addMediaString,
  addSealed,
  inOtherShape,
  type MeasureBody,
  type PromptTally,
  promptTally,
  sealOnlyModel,
  sizeOf,
  textsOf,
} from '../measure/prompt-size.ts';
import { addReferences, addTopLevelReferences } from '../measure/referenced-media.ts';

export const measureGemini: MeasureBody = (tape) => measureNative(tape).size;

export function mediaOfContent(
  tape: Tape,
  content: Value,
  at: string,
): Pick<PromptTally, 'media' | 'payloadBytes'> {
  const tally = promptTally(tape);
  addContent(tally, content, () => at);
  return tally;
}

/** Also says whether every element of `contents` is an object. */
export function measureNative(
  tape: Tape,
  request: Value = root,
): { readonly size: PromptSize; readonly hasObjects: boolean } {
  const tally = promptTally(tape);
  let hasObjects = true;
  for (const value of tape.members(request)) {
    const name = tape.name(value);
    if (name === 'contents') hasObjects = addContents(tally, value);
    else if (name === 'systemInstruction' || name === 'system_instruction') {
      // Google reads only text here.
      inOtherShape(tally, () => addContent(tally, value, () => name));
    }
  }
  addTopLevelReferences(tally, request);
  raiseAll(tally, request);
  return { size: sizeOf(tally), hasObjects };
}

/** Counts a list of contents; returns whether all of them are objects. */
function addContents(tally: PromptTally, contents: Value): boolean {
  const { tape } = tally;
  let hasObjects = true;
  const end = tape.after(contents);
  let count = 0;
  for (let one = tape.firstElement(contents); one < end; one = tape.after(one)) {
    const index = count;
    const { sealedBytes } = tally;
    if (tape.isObject(one)) tally.messages += 1;
    else hasObjects = false;
    addContent(tally, one, () => `contents[${index}]`);
    if (tally.sealedBytes !== sealedBytes) sealOnlyModel(tally, one, sealedBytes);
    count += 1;
  }
  return hasObjects;
}

function element(at: () => string, index: number): () => string {
  return () => `${at()}[${index}]`;
}

/** Google accepts a single part for a list; other servers may take a list for an object. */
function addContent(tally: PromptTally, content: Value, at: () => string): void {
  const { tape } = tally;
  if (tape.isArray(content)) {
    inOtherShape(tally, () => {
      for (const [index, one] of tape.elements(content).entries()) {
        addContent(tally, one, element(at, index));
      }
    });
  } else {
    const parts = tape.get(content, 'parts');
    if (parts !== none) addParts(tally, parts, () => `${at()}.parts`);
  }
}

/** Counts a list of parts, or a single part. A list may contain lists. */
function addParts(tally: PromptTally, parts: Value, at: () => string): void {
  const { tape } = tally;
  if (!tape.isArray(parts)) return addPart(tally, parts, at);
  const end = tape.after(parts);
  let index = 0;
  for (let one = tape.first(parts); one < end; one = tape.after(one)) {
    const inside = element(at, index);
    if (tape.isArray(one)) inOtherShape(tally, () => addParts(tally, one, inside));
    else addPart(tally, one, inside);
    index += 1;
  }
}

/** Members of a part that count as text. Any other member may reference media. */
const textMembers: ReadonlySet<string> = new Set([
  ...['functionCall', 'function_call', 'toolCall', 'tool_call', 'toolResponse', 'tool_response'],
  ...['executableCode', 'executable_code', 'codeExecutionResult', 'code_execution_result'],
  ...['videoMetadata', 'video_metadata', 'partMetadata', 'part_metadata'],
]);

function addPart(tally: PromptTally, part: Value, at: () => string): void {
  const { tape } = tally;
  const mediaBefore = tally.media.length;
  const end = tape.after(part);
  for (let value = tape.firstMember(part); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    if (tape.isObject(value)) addObject(tally, value, name, at);
    else if (tape.isString(value)) {
      if (name === 'thoughtSignature' || name === 'thought_signature') addSealed(tally, value);
      else if (name !== 'text') addReferences(tally, value, { name, at });
    } else if (tape.isArray(value)) addReferences(tally, value, { name, at });
  }
  if (tally.media.length > mediaBefore) raisePart(tally, part, mediaBefore);
}

function addObject(tally: PromptTally, value: Value, name: string, at: () => string): void {
  switch (name) {
    case 'inlineData':
    case 'inline_data':
      return addBlob(tally, value, at());
    case 'fileData':
    case 'file_data':
      return addFile(tally, value, at());
    case 'functionResponse':
    case 'function_response':
      return addResult(tally, value, at);
    default:
      if (!textMembers.has(name)) addReferences(tally, value, { name, at });
  }
}

function addBlob(tally: PromptTally, blob: Value, at: string): void {
  const { tape } = tally;
  const data = tape.present(blob, 'data');
  if (data === none || !tape.isString(data)) {
    return addReferences(tally, blob, { at: () => at, hasIdOnly: true });
  }
  addMediaString(tally, { value: data, at, types: mediaTypesOf(tape, blob) });
}

function mediaTypesOf(tape: Tape, object: Value): readonly string[] {
  return textsOf(tape, object, 'mimeType', 'mime_type');
}

function addFile(tally: PromptTally, file: Value, at: string): void {
  const { tape } = tally;
  const uri = tape
    .members(file)
    .find((one) => ['fileUri', 'file_uri'].includes(tape.name(one)) && !tape.isNull(one));
  const isAddress =
    uri !== undefined &&
    tape.isString(uri) &&
    /^https?:/i.test(rawHead(tape, uri, 'https:'.length + 1));
  if (isAddress) addMediaString(tally, { value: uri, at, types: mediaTypesOf(tape, file) });
  else tally.media.push({ kind: 'reference', bytes: 0, at });
}

/** The first bytes of a string, escapes included. */
function rawHead(tape: Tape, value: Value, length: number): string {
  const start = tape.start(value) + 1;
  return tape.bytes.toString('latin1', start, start + length);
}

/** Since Gemini 3 a function result may have media next to its JSON. */
function addResult(tally: PromptTally, result: Value, at: () => string): void {
  const parts = tally.tape.present(result, 'parts');
  if (parts !== none) addParts(tally, parts, () => `${at()}.functionResponse.parts`);
}
