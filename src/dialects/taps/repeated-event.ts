/**
 * Recognises the events of a translated stream that differ from an earlier one only in their text,
 * their padding and the usage so far. They are not parsed: the document of the earlier one gets the
 * new values and is read again, so that its reader can't tell the difference.
 */
import { parseBoundedExactly } from '../../bounded-json.ts';
import { decodeString } from '../../bytes/decode.ts';
import type { ContentEvent } from '../../canonical/reply.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../json.ts';
import { stringEnd } from '../../json-strings.ts';
import {
  type DeltaPart,
  type DeltaParts,
  DeltaTemplate,
  onlyContent,
  padding,
  partIn,
  spacesAtEnd,
} from './delta-template.ts';

/** Google states its usage in every event. */
const usageMember = 'usageMetadata';

/** In a name, it would hide which member an object has its value of. */
const escapedLetter = /\\u00[4-7]/;

export class RepeatedEvent {
  readonly #template = new DeltaTemplate(repeatedParts);
  #document: JsonObject = {};
  /** The object or array of the document that has the text, and the text's name in it. */
  #holder: object = {};
  #name = '';
  #usage = '';

  /** `event` is latin1; `events` are what its document was read as. */
  learn(event: string, document: JsonValue, events: readonly ContentEvent[]): void {
    const text = onlyText(events);
    if (text === undefined || !isJsonObject(document) || escapedLetter.test(event)) return;
    const [place, ...others] = placesOf(document, text);
    if (place === undefined || others.length > 0 || !this.#template.learn(event, document)) return;
    this.#document = document;
    [this.#holder, this.#name] = place;
    this.#usage = '';
  }

  /**
   * The end of the event at `at` if it is such a repetition, else -1. `text` is the block as
   * latin1. Its document is valid until the next call.
   */
  match(block: Buffer, text: string, at: number): number {
    const template = this.#template;
    const end = template.next(text, at);
    if (end === -1 || !this.#setUsage(text)) return -1;
    Reflect.set(this.#holder, this.#name, decodeString(block, template.start, template.contentEnd));
    return end;
  }

  document(): JsonValue {
    return this.#document;
  }

  #setUsage(text: string): boolean {
    const { objectStart, objectEnd } = this.#template;
    if (objectStart === -1) return true;
    const usage = text.slice(objectStart, objectEnd);
    if (usage === this.#usage) return true;
    const stated = /[^ -~]/.test(usage) ? undefined : parseBoundedExactly(usage);
    if (!isJsonObject(stated)) return false;
    Reflect.set(this.#document, usageMember, stated);
    this.#usage = usage;
    return true;
  }
}

/** The text of events that are one piece of text, and perhaps usage. */
function onlyText(events: readonly ContentEvent[]): string | undefined {
  let text: string | undefined;
  for (const event of events) {
    if (event.type === 'usage') continue;
    const isText = event.type === 'text' || event.type === 'reasoning';
    if (!isText || text !== undefined || event.providerData !== undefined) return undefined;
    text = event.text;
  }
  return text === '' ? undefined : text;
}

/** Where the document has this string. */
function placesOf(document: JsonValue, text: string): readonly (readonly [object, string])[] {
  const places: (readonly [object, string])[] = [];
  const pending: JsonValue[] = [document];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (!isJsonObject(value) && !Array.isArray(value)) continue;
    for (const [name, inner] of Object.entries<JsonValue>(value)) {
      if (inner === text) places.push([value, name]);
      else pending.push(inner);
    }
  }
  return places;
}

/** The text, the usage or the spaces after the text, and the padding of an event. */
function repeatedParts(event: string, document: JsonObject): DeltaParts | undefined {
  const content = onlyContent(event, document);
  if (content === undefined) return undefined;
  const usage = usagePart(event, document);
  if (usage !== undefined && usage.start < content.end) return undefined;
  const last = usage ?? spacesAtEnd(event);
  const { reasoning } = content;
  return { parts: [content, ...partIn(event, 'padding', padding), last], reasoning };
}

function usagePart(event: string, document: JsonObject): DeltaPart | undefined {
  if (!isJsonObject(member(document, usageMember))) return undefined;
  const [match, ...others] = event.matchAll(/"usageMetadata"\s*:\s*(?=\{)/g);
  if (match === undefined || others.length > 0) return undefined;
  const start = match.index + match[0].length;
  let level = 0;
  for (let at = start; at < event.length; at += 1) {
    const sign = event[at];
    if (sign === '"') at = stringEnd(event, at + 1);
    else if (sign === '{') level += 1;
    else if (sign === '}') level -= 1;
    if (level === 0) return { kind: 'object', start, end: at + 1 };
  }
  return undefined;
}
