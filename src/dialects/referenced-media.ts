/**
 * Finds what a request only names: documents, recordings and videos by address or id, in whatever
 * members a server may have for them. The rule knows what is text, and takes everything else that
 * names something for a reference: servers have more spellings than a list could hold.
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
import { type NameHints, readMemberName } from './member-names.ts';
import {
  eachElement,
  headOf,
  type PromptTally,
  payloadKind,
  shortText,
  urlKind,
} from './prompt-size.ts';

/** A value in which something may be named. */
export interface ReferringValue {
  readonly start: number;
  readonly at: () => string;
  /** The name of the member that holds the value; undefined for an element of a list. */
  readonly name?: Span | undefined;
  /** Where strings begin that were counted before. */
  readonly counted?: readonly number[];
  /** Nothing else of the value was counted, so that an `id` is what it stands for. */
  readonly hasIdOnly?: boolean;
}

/** Something named that is no text, if the object around it is none. */
interface Reference {
  readonly kind: MediaKind | undefined;
  /** Where a URL begins that may be an image's. */
  readonly start: number;
  readonly isFileId: boolean;
  isImage: boolean;
}

interface Walk {
  readonly text: Buffer;
  readonly counted: readonly number[];
  readonly found: Reference[];
  /** Media types that stand beside a payload. */
  readonly types: string[];
  /** Members that are called `id` and no more. */
  ids: number;
}

/** The member that holds a value, and all elements of a list. */
interface Holder {
  readonly name: Span | undefined;
  readonly isImage: boolean;
  /** What its name says, once somebody needs to know. */
  hints: NameHints | undefined;
}

/** Counts everything that a value names; gives where it ends. */
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

/** Members beside the messages that hold media, or name a cache or an earlier reply. */
const topLevelMediaName =
  /^(?:input_?)?(?:image|audio|video|document|file|attachment|media)s?(?:_?(?:ids?|ur[il]s?))?$/i;
const cacheName = /^(?:cached_?content|previous_?(?:response|interaction)_?id)$/i;

/** By its first letter most members are none of these, and the pattern is not run. */
function mayBeTopLevelName(name: string): boolean {
  return 'acdfimpvACDFIMPV'.includes(name.charAt(0)) && name !== 'messages' && name !== 'model';
}

/**
 * Counts what the members of a body name, beside its messages; `level` is how many objects around
 * them are merged into it.
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
    if (name === 'extra_body' || name === 'extraBody' || name === 'google') {
      // Some servers merge these into the body.
      checkMerged(level, value.end - value.start);
      addTopLevelReferences(tally, membersOf(text, value), `${path}${name}.`, level + 1);
    } else if (mayBeTopLevelName(name) && (topLevelMediaName.test(name) || cacheName.test(name))) {
      if (!cacheName.test(name)) {
        addReferences(tally, { start: value.start, name: nameSpan, at: () => `${path}${name}` });
      } else if (value.end - value.start > 2 && kindAt(text, value) !== 'null') {
        tally.media.push({ kind: 'reference', bytes: 0, at: `${path}${name}` });
      }
    }
  }
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

/** Parts that a model reads as text, with everything in them: calls of tools, reasoning, quotes. */
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
  // Mistral's quotes: they point at results of tools in the same conversation.
  'reference',
  'citation',
  'url_citation',
]);

function isTextType(type: string): boolean {
  return textTypes.has(type) || type.startsWith('reasoning');
}

const urlStart = /^(?:[a-z][a-z0-9+.-]*:\/\/|arn:|\/\/\w)/i;
/** How a PDF and an office document begin in Base64. */
const documentStart = /^(?:JVBERi0|UEsDB)/;

function addString(walk: Walk, span: Span, holder: Holder): void {
  const { text } = walk;
  const says = hintsOf(text, holder);
  if (says.isText || !(says.mayRefer || mayBeUrlOrDocument(text, span))) return;
  const head = headOf(text, { start: span.start, end: Math.min(span.end, span.start + 128) });
  if (/^data:/i.test(head)) {
    const kind = payloadKind([/^data:([^;,]*)/i.exec(head)?.[1] ?? '']);
    if (kind !== 'text') addKind(walk, kind === 'unknown' ? 'reference' : kind);
  } else if (urlStart.test(head)) {
    const isImage = holder.isImage || says.isImage;
    addReference(walk, { kind: undefined, start: span.start, isFileId: false, isImage });
  } else if (documentStart.test(head)) {
    addKind(walk, 'document');
  } else if (says.isType) {
    if (/^[\w.+-]+\/[\w.+*-]+\s*(?:;|$)/.test(head)) walk.types.push(head.split(';', 1)[0] ?? '');
  } else if (says.isUrl) {
    // A path or the name of a stored file; in an image it may be the Base64 itself.
    addKind(walk, holder.isImage ? 'image' : 'reference');
  } else if (says.resource !== undefined) addId(walk, holder);
  else if (says.isId) walk.ids += 1;
}

function addId(walk: Walk, holder: Holder): void {
  const isFileId = hintsOf(walk.text, holder).resource === 'file';
  addReference(walk, { kind: 'reference', start: 0, isFileId, isImage: false });
}

function addKind(walk: Walk, kind: MediaKind): void {
  addReference(walk, { kind, start: 0, isFileId: false, isImage: false });
}

/** No part names so many things, and each costs a close look. */
const maxReferences = 10_000;

/** @throws GatewayError `too_complex` */
function addReference({ found }: Walk, one: Reference): void {
  if (found.length === maxReferences)
    throw tooComplex(`${maxReferences} files and addresses in one part`);
  found.push(one);
}

/** Whether the first bytes of a string may be an address or a document: most text has a space. */
function mayBeUrlOrDocument(text: Buffer, { start, end }: Span): boolean {
  const first = text[start + 1] ?? 0;
  // `J` and `U` begin documents in Base64, `/` an address without its scheme.
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
