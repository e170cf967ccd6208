/**
 * Finds media that a request only references: documents, recordings and videos by URL or id, in any
 * member from which a server might read them. Text is recognised, and everything else that looks
 * like a reference counts as one, because servers have more names for such members than a list
 * could hold.
 */

import { none, type Tape, type Value } from '../../bytes/json/tape.ts';
import { backslash, colon } from '../../bytes/json/text.ts';
import type { MediaKind } from '../../call.ts';
import { checkMerged, tooComplex } from '../../canonical/complexity.ts';
import { dataUrlHead } from '../../canonical/media.ts';
import { type NameHints, readMemberName } from './member-names.ts';
import { headOf, type PromptTally, payloadKind, urlKind } from './prompt-size.ts';

export interface ReferringValue {
  readonly at: () => string;
  /** The name of the member that holds the value; undefined for an element of a list. */
  readonly name?: string | undefined;
  readonly counted?: readonly Value[];
  /** Nothing else in the value was counted, so that an `id` alone counts as a reference. */
  readonly hasIdOnly?: boolean;
}

/** A reference, unless the object around it turns out to be text. */
interface Reference {
  readonly kind: MediaKind | undefined;
  /** A URL that may be an image's. */
  readonly url: Value;
  readonly isFileId: boolean;
  isImage: boolean;
}

interface Walk {
  readonly tape: Tape;
  readonly counted: readonly Value[] | undefined;
  /** Undefined until there is one, because most values have none. */
  found: Reference[] | undefined;
  types: string[] | undefined;
  /** Number of members called just `id`. */
  ids: number;
}

export function addReferences(tally: PromptTally, value: Value, how: ReferringValue): void {
  const { tape } = tally;
  const { counted } = how;
  const walk: Walk = { tape, counted, found: undefined, types: undefined, ids: 0 };
  walkValue(walk, value, readMemberName(how.name), false);
  const { found, types = [], ids } = walk;
  if (found !== undefined && found.length > 0) {
    const at = how.at();
    for (const one of found) {
      const kind = one.kind ?? (one.isImage ? urlKind(headOf(tape, one.url), types) : 'reference');
      if (one.isFileId) tally.media.push({ kind, bytes: 0, at, isFileId: true });
      else tally.media.push({ kind, bytes: 0, at });
    }
  } else if (how.hasIdOnly === true && (types.length > 0 || ids > 0)) {
    const kind = types.length > 0 ? payloadKind(types) : 'reference';
    if (kind !== 'text') {
      tally.media.push({ kind: kind === 'unknown' ? 'document' : kind, bytes: 0, at: how.at() });
    }
  }
}

const topLevelMediaName =
  /^(?:input_?)?(?:image|audio|video|document|file|attachment|media)s?(?:_?(?:ids?|ur[il]s?))?$/i;
/** Top-level members that reference a cache or an earlier reply. */
const cacheName = /^(?:cached_?content|previous_?(?:response|interaction)_?id)$/i;

/** The first letter rules out most members, so that the patterns run rarely. */
const topLevelInitials = 'acdfimpvACDFIMPV';

/**
 * Counts what the top-level members of a body reference, apart from its messages. `level` is the
 * number of enclosing objects that are merged into the body.
 */
export function addTopLevelReferences(
  tally: PromptTally,
  object: Value,
  path = '',
  level = 0,
): void {
  const { tape } = tally;
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    if (name === 'messages' || name === 'model') continue;
    if (name === 'extra_body' || name === 'extraBody' || name === 'google') {
      // Some servers merge these into the body.
      checkMerged(level, tape.end(value) - tape.start(value));
      addTopLevelReferences(tally, value, `${path}${name}.`, level + 1);
    } else if (topLevelInitials.includes(name.charAt(0))) {
      if (topLevelMediaName.test(name)) {
        addReferences(tally, value, { name, at: () => `${path}${name}` });
      } else if (cacheName.test(name) && !isEmptyOrNull(tape, value)) {
        tally.media.push({ kind: 'reference', bytes: 0, at: `${path}${name}` });
      }
    }
  }
}

function isEmptyOrNull(tape: Tape, value: Value): boolean {
  return tape.end(value) - tape.start(value) <= 2 || tape.isNull(value);
}

function walkValue(walk: Walk, value: Value, hints: NameHints, isImage: boolean): void {
  const { tape } = walk;
  switch (tape.kind(value)) {
    case 'string':
      if (tape.end(value) - tape.start(value) > 2 && walk.counted?.includes(value) !== true) {
        addString(walk, value, { hints, isImage });
      }
      break;
    case 'array': {
      const end = tape.after(value);
      for (let one = tape.first(value); one < end; one = tape.after(one)) {
        walkValue(walk, one, hints, isImage);
      }
      break;
    }
    case 'object':
      walkObject(walk, value, isImage || hints.isImage);
      break;
    case 'number':
      addNumber(walk, value, hints);
      break;
    default:
  }
}

/** A number may be an id. */
function addNumber(walk: Walk, value: Value, hints: NameHints): void {
  const isId = isDigit(walk.tape.bytes[walk.tape.start(value)] ?? 0);
  if (isId && hints.resource !== undefined) addId(walk, hints);
}

function walkObject(walk: Walk, object: Value, isImage: boolean): void {
  const { tape } = walk;
  const found = walk.found?.length ?? 0;
  const types = walk.types?.length ?? 0;
  const { ids } = walk;
  let type: string | undefined;
  const end = tape.after(object);
  for (let value = tape.first(object); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    if (name === 'type' && tape.isString(value)) type = tape.shortText(value);
    else walkValue(walk, value, readMemberName(name), isImage);
  }
  if (type === undefined) return;
  if (textTypes.has(type) || type.startsWith('reasoning')) {
    if (walk.found !== undefined) walk.found.length = found;
    if (walk.types !== undefined) walk.types.length = types;
    walk.ids = ids;
  } else if (/image/i.test(type)) {
    for (const one of walk.found?.slice(found) ?? []) one.isImage = true;
  }
}

/** A model reads these as text with everything in them: calls, reasoning, quotes. */
const textTypes: ReadonlySet<string> = new Set([
  ...['text', 'input_text', 'output_text', 'summary_text', 'refusal', 'thinking'],
  ...['redacted_thinking', 'tool_use', 'server_tool_use', 'tool_call', 'tool-call', 'function'],
  ...['function_call', 'search_result'],
  // Mistral's quotes, which point at tool results in the same conversation.
  'reference',
  'citation',
  'url_citation',
]);

const urlStart = /^(?:[a-z][a-z0-9+.-]*:\/\/|arn:|\/\/\w)/i;
/** The Base64 beginnings of a PDF and of an Office document. */
const documentStart = /^(?:JVBERi0|UEsDB)/;

function addString(
  walk: Walk,
  value: Value,
  holder: { readonly hints: NameHints; readonly isImage: boolean },
): void {
  const { tape } = walk;
  const { hints } = holder;
  if (hints.isText || !(hints.mayRefer || mayBeUrlOrDocument(tape, value))) return;
  const head = headOf(tape, value, 127);
  const dataHead = dataUrlHead(head);
  if (dataHead !== undefined) {
    const kind = payloadKind([dataHead.mimeType]);
    if (kind !== 'text') addKind(walk, kind === 'unknown' ? 'reference' : kind);
  } else if (urlStart.test(head)) {
    const isImage = holder.isImage || hints.isImage;
    addReference(walk, { kind: undefined, url: value, isFileId: false, isImage });
  } else if (documentStart.test(head)) {
    addKind(walk, 'document');
  } else if (hints.isType) {
    if (!/^[\w.+-]+\/[\w.+*-]+\s*(?:;|$)/.test(head)) return;
    walk.types ??= [];
    walk.types.push(head.split(';', 1)[0] ?? '');
  } else if (hints.isUrl) {
    // A path or the name of a stored file; in an image part it may be the Base64 data.
    addKind(walk, holder.isImage ? 'image' : 'reference');
  } else if (hints.resource !== undefined) addId(walk, hints);
  else if (hints.isId) walk.ids += 1;
}

function addId(walk: Walk, { resource }: NameHints): void {
  const isFileId = resource === 'file';
  addReference(walk, { kind: 'reference', url: none, isFileId, isImage: false });
}

function addKind(walk: Walk, kind: MediaKind): void {
  addReference(walk, { kind, url: none, isFileId: false, isImage: false });
}

/** No real part has this many references, and each one costs time to examine. */
const maxReferences = 10_000;

function addReference(walk: Walk, one: Reference): void {
  walk.found ??= [];
  if (walk.found.length === maxReferences)
    throw tooComplex(`${maxReferences} files and URLs in one part`);
  walk.found.push(one);
}

/** Most text is ruled out by its first space. */
function mayBeUrlOrDocument(tape: Tape, value: Value): boolean {
  const { bytes } = tape;
  const start = tape.start(value) + 1;
  const first = bytes[start] ?? 0;
  // `J` and `U` begin documents in Base64, `/` a URL without its scheme.
  if (first === 0x4a || first === 0x55 || first === 0x2f || first <= 0x20) return true;
  const longest = Math.min(tape.end(value) - 1, start + maxSchemeBytes);
  for (let at = start; at < longest; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === colon || byte === backslash) return true;
    if (!isSchemeByte(byte)) return false;
  }
  return false;
}

const maxSchemeBytes = 32;

function isSchemeByte(byte: number): boolean {
  const lower = byte | 0x20;
  const isLetter = lower >= 0x61 && lower <= 0x7a;
  return isLetter || isDigit(byte) || byte === 0x2b || byte === 0x2d || byte === 0x2e;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
