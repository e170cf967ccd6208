/**
 * Finds media that a request only references: documents, recordings and videos by URL or id, in any
 * member from which a server might read them. Text is recognised, and everything else that looks
 * like a reference counts as one, because servers have more names for such members than a list
 * could hold.
 */

import { kindAt, membersOf } from '../bytes/json/read/members.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../bytes/json/read/skip.ts';
import type { Member, Span } from '../bytes/json/scan/scan.ts';
import { backslash, closeBrace, colon, openBrace, openBracket, quote } from '../bytes/json/text.ts';
import type { MediaKind } from '../call.ts';
import { checkMerged, tooComplex } from '../canonical/complexity.ts';
import { dataUrlHead } from '../canonical/media.ts';
import { type NameHints, readMemberName } from './member-names.ts';
import {
  eachElement,
  headOf,
  type PromptTally,
  payloadKind,
  shortText,
  urlKind,
} from './prompt-size.ts';

/** A value that may contain references. */
export interface ReferringValue {
  readonly start: number;
  readonly at: () => string;
  /** The name of the member that holds the value; undefined for an element of a list. */
  readonly name?: Span | undefined;
  /** Start offsets of strings that were already counted. */
  readonly counted?: readonly number[];
  /** Nothing else in the value was counted, so that an `id` alone counts as a reference. */
  readonly hasIdOnly?: boolean;
}

/** A reference, unless the object around it turns out to be text. */
interface Reference {
  readonly kind: MediaKind | undefined;
  /** Start offset of a URL that may be an image's. */
  readonly start: number;
  readonly isFileId: boolean;
  isImage: boolean;
}

interface Walk {
  readonly text: Buffer;
  readonly counted: readonly number[];
  readonly found: Reference[];
  /** Media types that are stated next to a payload. */
  readonly types: string[];
  /** Number of members called just `id`. */
  ids: number;
}

/** The member that holds a value; for an element of a list, the member that holds the list. */
interface Holder {
  readonly name: Span | undefined;
  readonly isImage: boolean;
  /** The classification of its name, computed on first use. */
  hints: NameHints | undefined;
}

/** Counts everything that a value references; returns the offset of the value's end. */
export function addReferences(tally: PromptTally, value: ReferringValue): number {
  const { text } = tally.body;
  const walk: Walk = { text, counted: value.counted ?? [], found: [], types: [], ids: 0 };
  const holder = { name: value.name, isImage: false, hints: undefined };
  const end = walkValue(walk, value.start, holder);
  const { found, types, ids } = walk;
  if (found.length > 0) {
    const at = value.at();
    for (const one of found) {
      const kind = one.kind ?? (one.isImage ? kindOfUrlAt(text, one.start, types) : 'reference');
      if (one.isFileId) tally.media.push({ kind, bytes: 0, at, isFileId: true });
      else tally.media.push({ kind, bytes: 0, at });
    }
  } else if (value.hasIdOnly === true && (types.length > 0 || ids > 0)) {
    const kind = types.length > 0 ? payloadKind(types) : 'reference';
    if (kind !== 'text') {
      tally.media.push({ kind: kind === 'unknown' ? 'document' : kind, bytes: 0, at: value.at() });
    }
  }
  return end;
}

function kindOfUrlAt(text: Buffer, start: number, types: readonly string[]): MediaKind {
  return urlKind(headOf(text, { start, end: skipString(text, start) }), types);
}

/** Top-level members that hold media. */
const topLevelMediaName =
  /^(?:input_?)?(?:image|audio|video|document|file|attachment|media)s?(?:_?(?:ids?|ur[il]s?))?$/i;
/** Top-level members that reference a cache or an earlier reply. */
const cacheName = /^(?:cached_?content|previous_?(?:response|interaction)_?id)$/i;

/** The first letter rules out most members, so that the patterns run rarely. */
const topLevelInitials = 'acdfimpvACDFIMPV';

/**
 * Counts what the top-level members of a body reference, apart from its messages. `level` is the
 * number of enclosing objects that are merged into the body.
 *
 * @throws GatewayError `too_complex`
 */
export function addTopLevelReferences(
  tally: PromptTally,
  members: readonly Member[],
  path = '',
  level = 0,
): void {
  const { text } = tally.body;
  for (const { name, nameSpan, value } of members) {
    if (name === 'messages' || name === 'model') continue;
    if (name === 'extra_body' || name === 'extraBody' || name === 'google') {
      // Some servers merge these into the body.
      checkMerged(level, value.end - value.start);
      addTopLevelReferences(tally, membersOf(text, value), `${path}${name}.`, level + 1);
    } else if (topLevelInitials.includes(name.charAt(0))) {
      if (topLevelMediaName.test(name)) {
        addReferences(tally, { start: value.start, name: nameSpan, at: () => `${path}${name}` });
      } else if (cacheName.test(name) && !isEmptyOrNull(text, value)) {
        tally.media.push({ kind: 'reference', bytes: 0, at: `${path}${name}` });
      }
    }
  }
}

function isEmptyOrNull(text: Buffer, value: Span): boolean {
  return value.end - value.start <= 2 || kindAt(text, value) === 'null';
}

function walkValue(walk: Walk, start: number, holder: Holder): number {
  const { text } = walk;
  switch (text[start]) {
    case quote: {
      const end = skipString(text, start);
      if (end - start > 2 && !walk.counted.includes(start)) addString(walk, { start, end }, holder);
      return end;
    }
    case openBracket:
      return eachElement(text, start, (element) => walkValue(walk, element, holder));
    case openBrace:
      return walkObject(walk, start, holder);
    default: {
      const isNumber = isDigit(text[start] ?? 0);
      if (isNumber && hintsOf(text, holder).resource !== undefined) addId(walk, holder);
      return skipValue(text, start);
    }
  }
}

function walkObject(walk: Walk, start: number, holder: Holder): number {
  const { text } = walk;
  const found = walk.found.length;
  const types = walk.types.length;
  const { ids } = walk;
  const isImage = holder.isImage || hintsOf(text, holder).isImage;
  let type: string | undefined;
  let at = firstInside(text, start);
  while (text[at] !== closeBrace) {
    const nameEnd = skipString(text, at);
    const value = afterName(text, nameEnd);
    let end: number;
    if (text[value] === quote && isString(text, at, nameEnd, 'type')) {
      end = skipString(text, value);
      type = shortText(text, { start: value, end });
    } else {
      const name = { start: at, end: nameEnd };
      end = walkValue(walk, value, { name, isImage, hints: undefined });
    }
    at = nextInside(text, end);
  }
  if (type === undefined) return at + 1;
  if (isTextType(type)) {
    walk.found.length = found;
    walk.types.length = types;
    walk.ids = ids;
  } else if (/image/i.test(type)) {
    for (let index = found; index < walk.found.length; index += 1) {
      const one = walk.found[index];
      if (one !== undefined) one.isImage = true;
    }
  }
  return at + 1;
}

/**
 * Types of parts that a model reads as text with everything in them: tool calls, reasoning, quotes.
 */
const textTypes: ReadonlySet<string> = new Set([
  'text',
  'input_text',
  'output_text',
  'summary_text',
  'refusal',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'tool_call',
  'tool-call',
  'function',
  'function_call',
  'search_result',
  // Mistral's quotes, which point at tool results in the same conversation.
  'reference',
  'citation',
  'url_citation',
]);

function isTextType(type: string): boolean {
  return textTypes.has(type) || type.startsWith('reasoning');
}

const urlStart = /^(?:[a-z][a-z0-9+.-]*:\/\/|arn:|\/\/\w)/i;
/** The Base64 beginnings of a PDF and of an Office document. */
const documentStart = /^(?:JVBERi0|UEsDB)/;

function addString(walk: Walk, span: Span, holder: Holder): void {
  const { text } = walk;
  const hints = hintsOf(text, holder);
  if (hints.isText || !(hints.mayRefer || mayBeUrlOrDocument(text, span))) return;
  const head = headOf(text, { start: span.start, end: Math.min(span.end, span.start + 128) });
  const dataHead = dataUrlHead(head);
  if (dataHead !== undefined) {
    const kind = payloadKind([dataHead.mimeType]);
    if (kind !== 'text') addKind(walk, kind === 'unknown' ? 'reference' : kind);
  } else if (urlStart.test(head)) {
    const isImage = holder.isImage || hints.isImage;
    addReference(walk, { kind: undefined, start: span.start, isFileId: false, isImage });
  } else if (documentStart.test(head)) {
    addKind(walk, 'document');
  } else if (hints.isType) {
    if (/^[\w.+-]+\/[\w.+*-]+\s*(?:;|$)/.test(head)) walk.types.push(head.split(';', 1)[0] ?? '');
  } else if (hints.isUrl) {
    // A path or the name of a stored file; in an image part it may be the Base64 data.
    addKind(walk, holder.isImage ? 'image' : 'reference');
  } else if (hints.resource !== undefined) addId(walk, holder);
  else if (hints.isId) walk.ids += 1;
}

function addId(walk: Walk, holder: Holder): void {
  const isFileId = hintsOf(walk.text, holder).resource === 'file';
  addReference(walk, { kind: 'reference', start: 0, isFileId, isImage: false });
}

function addKind(walk: Walk, kind: MediaKind): void {
  addReference(walk, { kind, start: 0, isFileId: false, isImage: false });
}

/** No real part has this many references, and each one costs time to examine. */
const maxReferences = 10_000;

/** @throws GatewayError `too_complex` */
function addReference({ found }: Walk, one: Reference): void {
  if (found.length === maxReferences)
    throw tooComplex(`${maxReferences} files and URLs in one part`);
  found.push(one);
}

/**
 * Returns whether the first bytes of a string could begin a URL or a document. Most text is ruled
 * out by its first space.
 */
function mayBeUrlOrDocument(text: Buffer, { start, end }: Span): boolean {
  const first = text[start + 1] ?? 0;
  // `J` and `U` begin documents in Base64, `/` a URL without its scheme.
  if (first === 0x4a || first === 0x55 || first === 0x2f || first <= 0x20) return true;
  const longest = Math.min(end - 1, start + 1 + maxSchemeBytes);
  for (let at = start + 1; at < longest; at += 1) {
    const byte = text[at] ?? 0;
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

function hintsOf(text: Buffer, holder: Holder): NameHints {
  holder.hints ??= readMemberName(text, holder.name);
  return holder.hints;
}
