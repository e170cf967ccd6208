/** Finds the members of a request that the table in `guarded-members.ts` knows. */
import { originalLength } from '../bytes/body/body.ts';
import { decodeString } from '../bytes/decode.ts';
import { kindAt, membersOf, valueAt } from '../bytes/json/read/members.ts';
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
import { closeBrace, openBrace } from '../bytes/json/text.ts';
import type { GuardedUse, MediaUse } from '../call.ts';
import { checkMerged } from '../canonical/complexity.ts';
import { eachElement, shortText } from '../dialects/prompt-size.ts';
import { isJsonObject, items, type JsonValue, member } from '../json.ts';
import { type GuardedRow, guardedRows } from './guarded-members.ts';

/** A place of a body where guarded members may stand. */
interface Place {
  row: GuardedRow | undefined;
  /** Members of the object at this place, in both spellings. */
  readonly members: Map<string, Place>;
  /** Every element of the list at this place. */
  elements: Place | undefined;
}

const root: Place = placeTree();
const toolTypes: readonly (readonly [beginning: string, row: GuardedRow])[] = guardedRows.flatMap(
  (row) => (row.toolTypes ?? []).map((type) => [type, row] as const),
);
/** A larger value is not neutral, and names too much to be allowed. */
const longestValue = 4096;

/**
 * What a request has of the table; mostly nothing. `media` are those of its prompt.
 *
 * @throws GatewayError `too_complex` where objects to merge stand too deep in one another
 */
export function guardedUses(
  { body, members }: ScannedBody,
  media: readonly MediaUse[],
): readonly GuardedUse[] {
  let found: GuardedUse[] | undefined;
  const note = (use: GuardedUse): void => {
    found ??= [];
    found.push(use);
  };

  const visitMembers = (inside: readonly Member[], place: Place, at: string): void => {
    for (const { name, value } of inside) {
      const known = place.members.get(name);
      if (known === root) {
        const level = at.match(/extra_?body/gi)?.length ?? 0;
        checkMerged(level, value.end - value.start);
      }
      if (known !== undefined) visit(value, known, `${at}${name}`);
      else if (place === toolPlace && name === 'type') visitToolType(inside, value, `${at}type`);
    }
  };

  const visit = (value: Span, place: Place, at: string): void => {
    const { row, elements } = place;
    if (row !== undefined) noteValue(row, value, at);
    const kind = kindAt(body.text, value);
    if (kind === 'object' && place.members.size > 0) {
      visitMembers(membersOf(body.text, value), place, `${at}.`);
    }
    if (kind === 'array' && place.members.size > 0) {
      // A list around the object: some servers take its first element.
      eachElement(body.text, value.start, (start, index) => {
        const end = skipValue(body.text, start);
        visitMembers(membersOf(body.text, { start, end }), place, `${at}[${index}].`);
        return end;
      });
    }
    if (kind !== 'array' || elements === undefined) return;
    eachElement(body.text, value.start, (start, index) => {
      const { end, isPlain } = passElement(body.text, start, elements);
      if (isPlain) return end;
      visitMembers(membersOf(body.text, { start, end }), elements, `${at}[${index}].`);
      return end;
    });
  };

  const visitToolType = (tool: readonly Member[], value: Span, at: string): void => {
    const type = shortText(body.text, value)
      ?.replace(/^\w+:/, '')
      .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
      .toLowerCase();
    if (type === undefined || type === 'function') return;
    const [, row] = toolTypes.find(([beginning]) => isOfType(type, beginning)) ?? [];
    if (row === undefined) return;
    const model = tool.find(({ name }) => name === 'model');
    const named = model === undefined ? undefined : shortText(body.text, model.value);
    note({ row: row.row, at, models: named === undefined ? [] : [named] });
  };

  const noteValue = (row: GuardedRow, span: Span, at: string): void => {
    const isLarge = originalLength(body, span.start, span.end) > longestValue;
    const value = isLarge ? undefined : valueAt(body.text, span);
    if (value !== undefined && isNeutral(value, row)) return;
    note({
      row: row.row,
      at,
      models: namesIn(value),
      ...(typeof value === 'number' ? { amount: value } : {}),
      ...(row.isList ? { modalities: modalitiesIn(value) } : {}),
    });
  };

  visitMembers(members, root, '');
  for (const { at, isFileId } of media) {
    if (isFileId) note({ row: 'file_id', at, models: [] });
  }
  return found ?? [];
}

/**
 * Where an element ends, and whether nothing in it may be guarded: it has none of the names, and is
 * a function. Most tools are, and are passed over once.
 */
function passElement(
  bytes: Buffer,
  start: number,
  { members }: Place,
): { readonly end: number; readonly isPlain: boolean } {
  if (bytes[start] !== openBrace) return { end: skipValue(bytes, start), isPlain: true };
  let isPlain = true;
  let at = firstInside(bytes, start);
  while (bytes[at] !== closeBrace) {
    const nameEnd = skipString(bytes, at);
    const name = decodeString(bytes, at + 1, nameEnd - 1);
    const value = afterName(bytes, nameEnd);
    const end = skipValue(bytes, value);
    if (members.has(name)) isPlain = false;
    else if (name === 'type') isPlain &&= isString(bytes, value, end, 'function');
    at = nextInside(bytes, end);
  }
  return { end: at + 1, isPlain };
}

function isOfType(type: string, beginning: string): boolean {
  return type === beginning || type.startsWith(`${beginning}_`);
}

/** Whether a value leaves the call as it would be without it. */
function isNeutral(value: JsonValue, { neutral = [], isList, isSwitch }: GuardedRow): boolean {
  if (value === null || value === '') return true;
  if (Array.isArray(value)) {
    return (
      value.length === 0 || (isList === true && items(value).every((one) => isIn(neutral, one)))
    );
  }
  if (isJsonObject(value)) {
    // xAI's search by its own switch.
    return isSwitch === true ? member(value, 'mode') === 'off' : Object.keys(value).length === 0;
  }
  return isIn(neutral, value);
}

function isIn(neutral: readonly JsonValue[], value: JsonValue): boolean {
  if (typeof value !== 'string') return neutral.includes(value);
  const plain = plainWord(value);
  return neutral.some((one) => typeof one === 'string' && one.toLowerCase() === plain);
}

/** Google writes `MODALITY_TEXT` too. */
function plainWord(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^modality_/, '');
}

/** Every model that a value names: as text, in a list, or as the `model` of an object. */
function namesIn(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return items(value).flatMap(namesIn);
  const model = member(value, 'model');
  return typeof model === 'string' ? [model] : [];
}

/** Chat's `audio` is an object of settings; what is no list of words is not known. */
function modalitiesIn(value: JsonValue | undefined): readonly string[] {
  if (isJsonObject(value)) return 'voice' in value || 'format' in value ? ['audio'] : ['unknown'];
  if (!Array.isArray(value)) return ['unknown'];
  return items(value)
    .map((one) => (typeof one === 'string' ? plainWord(one) : 'unknown'))
    .filter((one) => one !== 'text');
}

/** The table by places: a body is walked once, and only where a row may match. */
function placeTree(): Place {
  const tree = newPlace();
  for (const row of guardedRows) {
    for (const path of row.places ?? []) {
      let place = tree;
      for (const segment of path.split('.')) {
        const name = segment.replace('[]', '');
        place = inside(place, name);
        if (name === segment) continue;
        place.elements ??= newPlace();
        place = place.elements;
      }
      place.row = row;
    }
  }
  for (const name of ['extra_body', 'extraBody']) tree.members.set(name, tree);
  return tree;
}

const toolPlace: Place | undefined = root.members.get('tools')?.elements;

function inside({ members }: Place, name: string): Place {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const known = members.get(name) ?? newPlace();
  members.set(name, known);
  members.set(camel, known);
  return known;
}

function newPlace(): Place {
  return { row: undefined, members: new Map(), elements: undefined };
}
