/** Finds the members of a request that have a row in `guarded-members.ts`. */
import { type Body, originalLength } from '../bytes/body/body.ts';
import { decodeString } from '../bytes/decode.ts';
import { membersOf, valueAt } from '../bytes/json/read/members.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../bytes/json/read/skip.ts';
import type { ScannedBody } from '../bytes/json/scan/body.ts';
import type { Member, Span } from '../bytes/json/scan/scan.ts';
import { closeBrace, openBrace, openBracket } from '../bytes/json/text.ts';
import type { GuardedUse, MediaUse } from '../call.ts';
import { checkMerged } from '../canonical/complexity.ts';
import { eachElement, shortText } from '../dialects/prompt-size.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../json.ts';
import { type GuardedRow, guardedRows } from './guarded-members.ts';

/** A node in the tree of paths at which guarded members may occur. */
interface GuardedNode {
  row: GuardedRow | undefined;
  /** The child nodes of an object's members, in both spellings. */
  readonly members: Map<string, GuardedNode>;
}

const root: GuardedNode = buildTree();
/**
 * Tools, which are in `tools`, in namespaces among them, in input items that declare more, and in
 * the conversation, where a message or a block of it may add some.
 */
const toolNode: GuardedNode = childOf(root, 'tools');
/** Messages, their blocks, and blocks inside these. */
const contentNode: GuardedNode = newNode();
const inputNode: GuardedNode = childOf(root, 'input');
for (const name of ['tools', 'tool', 'definition', 'definitions']) {
  for (const { members } of [toolNode, contentNode, inputNode]) members.set(name, toolNode);
}
for (const name of ['content', 'parts']) {
  for (const { members } of [contentNode, inputNode]) members.set(name, contentNode);
}
for (const name of ['messages', 'contents', 'system', 'system_instruction']) {
  for (const spelled of [name, camelCase(name)]) root.members.set(spelled, contentNode);
}
const toolTypes: readonly (readonly [beginning: string, row: GuardedRow])[] = guardedRows.flatMap(
  (row) => (row.toolTypes ?? []).map((type) => [lettersOf(type), row] as const),
);
/** The input items whose members replace those of the body from there on. */
const settingsType = 'configuration_update';
/** Larger values are neither neutral nor parsed for model names. */
const maxValueBytes = 4096;

/**
 * The beginnings of the names under which a conversation defines tools. A body without them is not
 * searched there, unless it has escapes, which may stand for any letter.
 */
const definitionMarks = ['"tool', '"definition', '\\u'] as const;

/** The search of one body. */
interface Search {
  readonly body: Body;
  readonly mayDefineTools: boolean;
  /** Created at the first use, because most requests use none. */
  found: GuardedUse[] | undefined;
}

/**
 * The guarded members that a request uses; usually none. `media` are the media in its prompt.
 *
 * @throws GatewayError `too_complex` if objects to merge are nested too deep
 */
export function guardedUses(
  { body, members }: ScannedBody,
  media: readonly MediaUse[],
): readonly GuardedUse[] {
  const [tool, definition, escaped] = definitionMarks;
  const { text } = body;
  const mayDefineTools = text.includes(tool) || text.includes(definition) || text.includes(escaped);
  const search: Search = { body, mayDefineTools, found: undefined };
  visitMembers(search, members, root, '');
  for (const { at, isFileId } of media) {
    if (isFileId) addUse(search, { row: 'file_id', at, models: [] });
  }
  return search.found ?? [];
}

function addUse(search: Search, use: GuardedUse): void {
  search.found ??= [];
  search.found.push(use);
}

function visitMembers(
  search: Search,
  inside: readonly Member[],
  place: GuardedNode,
  at: string,
): void {
  for (const { name, value } of inside) {
    const known = place.members.get(name);
    if (known === contentNode && !search.mayDefineTools) continue;
    if (known === root) {
      const level = at.match(/extra_?body/gi)?.length ?? 0;
      checkMerged(level, value.end - value.start);
    }
    if (known !== undefined) visit(search, value, known, `${at}${name}`);
    else if (place === toolNode && name === 'type') {
      visitToolType(search, inside, value, `${at}type`);
    }
  }
}

function visit(search: Search, value: Span, place: GuardedNode, at: string): void {
  if (place.row !== undefined) checkValue(search, place.row, value, at);
  if (place.members.size > 0) visitInside(search, value.start, place, at);
}

/**
 * Visits an object, or every object in a list, and returns the end of the value. Some servers
 * accept one object in place of a list, a list in place of an object, and lists inside lists.
 */
function visitInside(search: Search, start: number, place: GuardedNode, at: string): number {
  const { text } = search.body;
  if (text[start] === openBracket) {
    return eachElement(text, start, (element, index) =>
      visitInside(search, element, place, `${at}[${index}]`),
    );
  }
  const { end, isPlain } =
    place === toolNode || place === inputNode || place === contentNode
      ? scanObject(text, start, place)
      : { end: skipValue(text, start), isPlain: false };
  if (isPlain) return end;
  const inside = membersOf(text, { start, end });
  visitMembers(search, inside, place === inputNode ? nodeOfItem(text, inside) : place, `${at}.`);
  return end;
}

/** An item that changes the settings may hold whatever the body may. */
function nodeOfItem(text: Buffer, item: readonly Member[]): GuardedNode {
  const type = item.find(({ name }) => name === 'type');
  return type !== undefined && shortText(text, type.value) === settingsType ? root : inputNode;
}

function visitToolType(search: Search, tool: readonly Member[], value: Span, at: string): void {
  const { text } = search.body;
  const type = shortText(text, value);
  if (type === undefined || type === 'function') return;
  const row = rowOfType(type) ?? (isBuiltin(type) ? builtinRow(text, tool) : undefined);
  if (row === undefined || runsAtCaller(text, tool, row)) return;
  const model = tool.find(({ name }) => name === 'model');
  const named = model === undefined ? undefined : shortText(text, model.value);
  const uses = tool.find(({ name }) => name === 'max_uses');
  const maxCalls = uses === undefined ? undefined : countAt(text, uses.value);
  addUse(search, {
    row: row.row,
    at,
    models: named === undefined ? [] : [named],
    ...(maxCalls === undefined ? {} : { maxCalls }),
  });
}

/** A count of at least 1. Any other value bounds nothing. */
function countAt(text: Buffer, span: Span): number | undefined {
  const digits = text.toString('latin1', span.start, Math.min(span.end, span.start + 16));
  return /^[1-9]\d{0,8}$/.test(digits) ? Number(digits) : undefined;
}

/** Whether a member of the tool says that it runs at the caller. */
function runsAtCaller(text: Buffer, tool: readonly Member[], { unless }: GuardedRow): boolean {
  if (unless === undefined) return false;
  let inside = tool;
  let value: Span | undefined;
  for (const name of unless.path) {
    value = inside.find((one) => one.name === name)?.value;
    inside = value === undefined ? [] : membersOf(text, value);
  }
  return shortText(text, value) === unless.value;
}

function checkValue(search: Search, row: GuardedRow, span: Span, at: string): void {
  const { body } = search;
  const isLarge = originalLength(body, span.start, span.end) > maxValueBytes;
  const value = isLarge ? undefined : valueAt(body.text, span);
  if (value !== undefined && isNeutral(value, row)) return;
  addUse(search, {
    row: row.row,
    at,
    models: namesIn(value),
    ...(typeof value === 'number' ? { amount: value } : {}),
    ...(row.isList ? { modalities: modalitiesIn(value) } : {}),
  });
}

/**
 * The end of a tool, a message, a block or an input item, and whether it contains nothing guarded:
 * it has none of the names, a tool is a function, and an item changes no settings. Most need only
 * this one pass.
 */
function scanObject(
  bytes: Buffer,
  start: number,
  place: GuardedNode,
): { readonly end: number; readonly isPlain: boolean } {
  if (bytes[start] !== openBrace) return { end: skipValue(bytes, start), isPlain: true };
  const { members } = place;
  const isTool = place === toolNode;
  let isPlain = true;
  let at = firstInside(bytes, start);
  while (bytes[at] !== closeBrace) {
    const nameEnd = skipString(bytes, at);
    const name = decodeString(bytes, at + 1, nameEnd - 1);
    const value = afterName(bytes, nameEnd);
    const end = skipValue(bytes, value);
    if (members.has(name)) isPlain = false;
    else if (name === 'type') {
      isPlain &&= isTool
        ? isString(bytes, value, end, 'function')
        : !isString(bytes, value, end, settingsType);
    }
    at = nextInside(bytes, end);
  }
  return { end: at + 1, isPlain };
}

/**
 * The row of a tool's type or name. Case, separators and the prefix of a provider make no
 * difference.
 */
function rowOfType(type: string): GuardedRow | undefined {
  const parts = type.split(/[:/.]/).map(lettersOf);
  return toolTypes.find(([beginning]) => parts.some((part) => part.startsWith(beginning)))?.[1];
}

/** The type of a tool that runs at the provider; its function's name says which. */
function isBuiltin(type: string): boolean {
  return lettersOf(type).startsWith('builtin');
}

/** The row of a tool that its name identifies: `$web_search`. Others count as a search. */
function builtinRow(text: Buffer, tool: readonly Member[]): GuardedRow | undefined {
  const inside = tool.find(({ name }) => name === 'function');
  const members = inside === undefined ? [] : membersOf(text, inside.value);
  const named = members.find(({ name }) => name === 'name');
  return rowOfType(shortText(text, named?.value) ?? '') ?? rowOfType('web_search');
}

/** The letters and digits of a name, in lower case. */
function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Whether a value has no effect on the call. */
function isNeutral(value: JsonValue, row: GuardedRow): boolean {
  const { neutral = [], isList, isSwitch, hasOffMode, neutralEdits } = row;
  if (value === null || value === '') return true;
  if (Array.isArray(value)) {
    return (
      value.length === 0 || (isList === true && items(value).every((one) => isIn(neutral, one)))
    );
  }
  if (isJsonObject(value)) {
    if (neutralEdits !== undefined && hasOnlyEdits(value, neutralEdits)) return true;
    if (isSwitch !== true) return Object.keys(value).length === 0;
    return hasOffMode === true && member(value, 'mode') === 'off';
  }
  return isIn(neutral, value);
}

/** Whether an object has nothing but edits of these types. */
function hasOnlyEdits(value: JsonObject, types: RegExp): boolean {
  const { edits, ...others } = value;
  if (!Array.isArray(edits) || Object.keys(others).length > 0) return false;
  return items(edits).every((edit) => {
    const type = member(edit, 'type');
    return typeof type === 'string' && types.test(type);
  });
}

function isIn(neutral: readonly JsonValue[], value: JsonValue): boolean {
  if (typeof value !== 'string') return neutral.includes(value);
  const plain = normalizedWord(value);
  return neutral.some((one) => typeof one === 'string' && one.toLowerCase() === plain);
}

/** Lower case, and without Google's prefix `MODALITY_`. */
function normalizedWord(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^modality_/, '');
}

/**
 * The models that a value names: as text, in a list, or in an object. Empty if any part of it names
 * none, because that part may choose any model.
 */
function namesIn(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) {
    const names = items(value).map(namesIn);
    return names.every((one) => one.length > 0) ? names.flat() : [];
  }
  if (!isJsonObject(value)) return [];
  return ['model', 'modelName', 'model_name']
    .map((name) => member(value, name))
    .filter((model) => typeof model === 'string');
}

/**
 * The modalities in a value other than text. Chat's `audio` is an object of settings; anything else
 * that is not a list is `unknown`.
 */
function modalitiesIn(value: JsonValue | undefined): readonly string[] {
  if (isJsonObject(value)) return 'voice' in value || 'format' in value ? ['audio'] : ['unknown'];
  if (!Array.isArray(value)) return ['unknown'];
  return items(value)
    .map((one) => (typeof one === 'string' ? normalizedWord(one) : 'unknown'))
    .filter((one) => one !== 'text');
}

/** Builds the tree of paths, so that a body is walked once, and only where a row may match. */
function buildTree(): GuardedNode {
  const tree = newNode();
  for (const row of guardedRows) {
    for (const path of row.places ?? []) {
      let place = tree;
      for (const segment of path.split('.')) {
        place = childOf(place, segment.replace('[]', ''));
      }
      place.row = row;
    }
  }
  for (const name of ['extra_body', 'extraBody']) tree.members.set(name, tree);
  return tree;
}

function childOf({ members }: GuardedNode, name: string): GuardedNode {
  const known = members.get(name) ?? newNode();
  members.set(name, known);
  members.set(camelCase(name), known);
  return known;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function newNode(): GuardedNode {
  return { row: undefined, members: new Map() };
}
