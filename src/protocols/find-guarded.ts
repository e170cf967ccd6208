/** Finds the members of a request that have a row in `guarded-members.ts`. */
import { parsedValue } from '../bytes/json/scan/body.ts';
import { definitionNames } from '../bytes/json/scan/member-names.ts';
import { none, root, type Tape, type Value } from '../bytes/json/tape.ts';
import type { GuardedUse, MediaUse } from '../call.ts';
import { checkMerged } from '../canonical/complexity.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../json.ts';
import { type GuardedRow, guardedRows, modelsRow, otherTools } from './guarded-members.ts';
import {
  eachModel,
  functionHolders,
  isCallerMember,
  isFunctionMember,
  isPlainFunction,
  lettersOf,
  namesModel,
  placeOfTool,
  shortName,
  type ToolPlace,
} from './guarded-tools.ts';
import { camelCase, refuseOtherCase } from './spellings.ts';

interface GuardedNode {
  row: GuardedRow | undefined;
  readonly members: Map<string, GuardedNode>;
}

const bodyNode: GuardedNode = buildTree();
/** In `tools`, namespaces among them, input items, and messages or blocks that add some. */
const toolNode: GuardedNode = childOf(bodyNode, 'tools');
const functionNode: GuardedNode = newNode();
/** Messages, input items, their blocks, and blocks inside these. */
const contentNode: GuardedNode = newNode();
for (const name of definitionNames) {
  for (const { members } of [toolNode, contentNode]) members.set(name, toolNode);
}
for (const name of ['content', 'parts']) contentNode.members.set(name, contentNode);
for (const name of ['messages', 'contents', 'input', 'system', 'system_instruction']) {
  for (const spelled of [name, camelCase(name)]) bodyNode.members.set(spelled, contentNode);
}
for (const name of functionHolders) toolNode.members.set(name, functionNode);
const toolMembers: ReadonlyMap<string, GuardedNode> = new Map(
  [...toolNode.members].map(([name, node]) => [lettersOf(name), node]),
);
/** Larger values are neither neutral nor parsed for model names. */
const maxValueBytes = 4096;

/** How an API tells tools apart: by their type, or, as Gemini does, by the names of members. */
export type ToolForm = 'types' | 'members';

/** A tool without a type that has one of these is a function. */
const functionMarks: ReadonlySet<string> = new Set(['name', 'function']);

interface Search {
  readonly tape: Tape;
  readonly form: ToolForm;
  /** Created at the first use, because most requests use none. */
  found: GuardedUse[] | undefined;
}

/** The guarded members that a request uses; usually none. `media` are the media in its prompt. */
export function guardedUses(
  tape: Tape,
  media: readonly MediaUse[],
  form: ToolForm = 'types',
): readonly GuardedUse[] {
  const search: Search = { tape, form, found: undefined };
  visitMembers(search, root, bodyNode, '');
  for (const { at, isFileId } of media) {
    if (isFileId) addUse(search, { row: 'file_id', at, models: [] });
  }
  return search.found ?? [];
}

function addUse(search: Search, use: GuardedUse): void {
  search.found ??= [];
  search.found.push(use);
}

function visitMembers(search: Search, object: Value, place: GuardedNode, at: string): void {
  const { tape } = search;
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    const known = place.members.get(name);
    if (known === undefined) refuseOtherCase(name, at);
    if (known === undefined || (known === contentNode && !tape.definesTools)) continue;
    if (known === bodyNode) {
      const level = at.match(/extra_?body/gi)?.length ?? 0;
      checkMerged(level, tape.end(value) - tape.start(value));
    }
    visit(search, value, known, `${at}${name}`);
  }
}

function visit(search: Search, value: Value, place: GuardedNode, at: string): void {
  if (place.row !== undefined) checkValue(search, place.row, value, at);
  if (place.members.size > 0 || place === functionNode) visitInside(search, value, place, at);
}

/** Servers may accept one object for a list, a list for an object, and lists inside lists. */
function visitInside(search: Search, value: Value, place: GuardedNode, at: string): void {
  const { tape } = search;
  if (tape.isArray(value)) {
    const end = tape.after(value);
    let index = 0;
    for (let one = tape.first(value); one < end; one = tape.after(one)) {
      visitInside(search, one, place, `${at}[${index}]`);
      index += 1;
    }
  } else if (place === toolNode || place === functionNode) {
    if (isPlainFunction(tape, value)) return;
    if (place === toolNode) visitTool(search, value, `${at}.`);
    else visitFunction(search, value, `${at}.`);
  } else if (place !== contentNode || mayDefineTools(tape, value)) {
    visitMembers(search, value, place, `${at}.`);
  }
}

function mayDefineTools(tape: Tape, object: Value): boolean {
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    if (contentNode.members.has(tape.name(value))) return true;
  }
  return false;
}

/** A type that a tool states. A tool may state several, in different spellings. */
interface StatedType {
  readonly at: string;
  /** Undefined if it is not a text. */
  readonly type: string | undefined;
  readonly place: ToolPlace;
}

function visitTool(search: Search, tool: Value, at: string): void {
  const { tape } = search;
  const types = typesOf(tape, tool, at);
  const isFunction =
    types.length > 0 || [...functionMarks].some((name) => tape.get(tool, name) !== none);
  const runsAtCaller = types.every(({ place }) => place === 'caller');
  const models: Search = { ...search, found: undefined };
  const end = tape.after(tool);
  for (let value = tape.firstMember(tool); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    const letters = lettersOf(name);
    const known = toolMembers.get(letters);
    const inside = `${at}${shortName(name)}`;
    const isPlain = letters === 'type' || isFunctionMember(letters);
    if (known !== undefined) visit(search, value, known, inside);
    else if (isPlain && (runsAtCaller || letters === 'type')) continue;
    else if (!isPlain && !isCallerMember(letters) && (search.form === 'members' || !isFunction)) {
      checkValue(search, otherTools, value, inside, { toolType: name });
    }
    if (known !== toolNode && known !== functionNode) findModels(models, value, name, inside);
  }
  addTool(search, types, tool, models.found ?? []);
}

function typesOf(tape: Tape, tool: Value, at: string): readonly StatedType[] {
  const stated: StatedType[] = [];
  const end = tape.after(tool);
  for (let value = tape.firstMember(tool); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    if (lettersOf(name) !== 'type' || tape.isNull(value)) continue;
    const type = tape.shortText(value);
    if (type === '') continue;
    const place = type === undefined ? 'unknown' : placeOfTool(tape, tool, type);
    stated.push({ at: `${at}${name}`, type, place });
  }
  return stated;
}

/** Adds a tool that does not run at the caller, and the models that it names. */
function addTool(
  search: Search,
  types: readonly StatedType[],
  tool: Value,
  models: readonly GuardedUse[],
): void {
  const uses = search.tape.get(tool, 'max_uses');
  const maxCalls = uses === none ? undefined : countAt(search.tape, uses);
  let isAdvisor = false;
  for (const { at, type, place } of types) {
    if (place === 'caller') continue;
    const { row } = place === 'unknown' ? otherTools : place;
    isAdvisor ||= row === 'advisor';
    addUse(search, {
      row,
      at,
      models: row === 'advisor' ? namesOf(models) : [],
      ...(place !== 'unknown' || type === undefined ? {} : { toolType: type }),
      ...(maxCalls === undefined ? {} : { maxCalls }),
    });
  }
  if (!isAdvisor) for (const use of models) addUse(search, use);
}

function visitFunction(search: Search, inside: Value, at: string): void {
  const { tape } = search;
  const end = tape.after(inside);
  for (let value = tape.firstMember(inside); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    const letters = lettersOf(name);
    if (letters === 'type' || isFunctionMember(letters)) continue;
    findModels(search, value, name, `${at}${shortName(name)}`);
  }
}

function findModels(search: Search, value: Value, name: string, at: string): void {
  if (namesModel(name)) checkValue(search, modelsRow, value, at);
  else {
    eachModel(search.tape, value, (model, path) => {
      checkValue(search, modelsRow, model, `${at}${path}`);
    });
  }
}

/** The models of several members; empty if one of them may choose any model. */
function namesOf(uses: readonly GuardedUse[]): readonly string[] {
  return uses.every(({ models }) => models.length > 0) ? uses.flatMap(({ models }) => models) : [];
}

/** A count of at least 1. Any other value bounds nothing. */
function countAt(tape: Tape, value: Value): number | undefined {
  const start = tape.start(value);
  const digits = tape.bytes.toString('latin1', start, Math.min(tape.end(value), start + 16));
  return /^[1-9]\d{0,8}$/.test(digits) ? Number(digits) : undefined;
}

function checkValue(
  search: Search,
  row: GuardedRow,
  found: Value,
  at: string,
  rest: Pick<GuardedUse, 'toolType'> = {},
): void {
  const { tape } = search;
  const value = tape.length(found) > maxValueBytes ? undefined : parsedValue(tape, found);
  if (value !== undefined && isNeutral(value, row)) return;
  addUse(search, {
    row: row.row,
    at,
    models: namesIn(value),
    ...(typeof value === 'number' ? { amount: value } : {}),
    ...(row.isList ? { modalities: modalitiesIn(value) } : {}),
    ...rest,
  });
}

function isNeutral(value: JsonValue, row: GuardedRow): boolean {
  const { neutral = [], isList, isSwitch, hasOffMode, neutralEdits, effective } = row;
  if (value === null || value === '') return true;
  if (effective !== undefined) return !isIn(effective, value);
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

/** Lower case, and without Google's prefixes: `MODALITY_`, `SERVICE_TIER_`. */
function normalizedWord(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^(?:modality|service_tier)_/, '');
}

/** Empty if any part names none, because that part may choose any model. */
function namesIn(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) {
    const names = items(value).map(namesIn);
    return names.every((one) => one.length > 0) ? names.flat() : [];
  }
  if (!isJsonObject(value)) return [];
  const named = Object.keys(value).filter(namesModel);
  const models = named.map((name) => member(value, name));
  return models.every((model) => typeof model === 'string') ? models : [];
}

/** Chat's `audio` is an object of settings; anything else that is not a list is `unknown`. */
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

function newNode(): GuardedNode {
  return { row: undefined, members: new Map() };
}
