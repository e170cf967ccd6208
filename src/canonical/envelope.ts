/**
 * The envelope in which a caller of one provider carries the data of another: a signature or
 * encrypted reasoning, and the name of the provider that created it. Clients send it back without
 * looking inside, Google's in `thoughtSignature` and OpenAI's in `encrypted_content`.
 */
import { items, type JsonValue, member, parseJson } from '../json.ts';
import { stringEnd } from '../json-strings.ts';
import type { HiddenReasoning, ProviderData } from './provider-data.ts';
import { jsonText } from './raw-json.ts';

/** The contents of an envelope. It holds nothing that its provider hides from callers. */
export interface Envelope {
  /** The dialect that created the data; `any` for reasoning that nobody signed. */
  readonly provider: string;
  /**
   * `thinking` is the signature of reasoning and `redacted` encrypted reasoning; `call` and `text`
   * are the signatures of a tool call and of visible text.
   */
  readonly kind: EnvelopeKind;
  readonly data: string;
  /**
   * The reasoning that the signature authenticates, unless the part beside the envelope has it.
   * Clients may shorten what they show, but not this.
   */
  readonly text?: string | undefined;
  readonly callId?: string | undefined;
}

export type EnvelopeKind = 'thinking' | 'redacted' | 'call' | 'text';

/** The mark of the current form: `gw2:` and a JSON object. */
const mark = 'gw2:';

/**
 * The first characters of every envelope in Base64: the marks of the current and the older form.
 */
export const envelopePrefixes = ['Z3cyO', 'Z3cxO'] as const;

/** Far above real reasoning. Anything longer isn't opened. */
const maxEnvelopeLength = 1024 * 1024;

/** Whether the text is an envelope of this gateway, even one that can't be opened. */
export function isEnvelope(text: string): boolean {
  return envelopePrefixes.some((prefix) => text.startsWith(prefix));
}

/** Writes an envelope in URL-safe Base64, or in the plain one that Google's clients decode. */
export function writeEnvelope(
  { provider, kind, data, text, callId }: Envelope,
  encoding: 'base64' | 'base64url' = 'base64url',
): string {
  const inside = jsonText({ p: provider, k: kind, d: data, t: text, c: callId });
  return Buffer.from(mark + inside).toString(encoding);
}

export function openEnvelope(text: string): Envelope | undefined {
  if (!isEnvelope(text) || text.length > maxEnvelopeLength || !base64.test(text)) return undefined;
  const inside = Buffer.from(text, 'base64').toString('utf8');
  return inside.startsWith(mark)
    ? contentsOf(parseFlat(inside.slice(mark.length)))
    : olderContents(inside);
}

const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * Parses an object or array of a few strings. Callers can write envelopes too, and a megabyte of
 * other JSON becomes many times as much memory.
 */
function parseFlat(json: string): JsonValue | undefined {
  let values = 1;
  for (let at = 1; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') at = stringEnd(json, at + 1);
    else if (character === '{' || character === '[') return undefined;
    else if (character === ',') values += 1;
  }
  return values > maxValues ? undefined : parseJson(json);
}

const maxValues = 5;

function contentsOf(inside: JsonValue | undefined): Envelope | undefined {
  const provider = member(inside, 'p');
  const kind = kinds.find((known) => known === member(inside, 'k'));
  const data = member(inside, 'd');
  const text = member(inside, 't');
  const callId = member(inside, 'c');
  const isValid =
    typeof provider === 'string' &&
    providerName.test(provider) &&
    kind !== undefined &&
    typeof data === 'string' &&
    isTextOrAbsent(text) &&
    isTextOrAbsent(callId);
  return isValid ? { provider, kind, data, text, callId } : undefined;
}

const kinds: readonly EnvelopeKind[] = ['thinking', 'redacted', 'call', 'text'];
const providerName = /^[a-z]{1,32}$/;

function isTextOrAbsent(value: JsonValue | undefined): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

/**
 * Reads the form of the first envelopes, which callers of Google's API may still have in their
 * histories: `gw1:<provider>:<kind>:<data>`, or a JSON array after the kind `reasoning`.
 */
function olderContents(inside: string): Envelope | undefined {
  const [, provider, kind, rest] =
    /^gw1:([a-z]{1,32}):(signature|encrypted|reasoning):(.*)$/s.exec(inside) ?? [];
  if (provider === undefined || rest === undefined) return undefined;
  if (kind !== 'reasoning') return { provider, kind: kindOf(kind), data: rest };
  const [dataKind, data, text] = items(parseFlat(rest));
  if (typeof data !== 'string' || typeof text !== 'string') return undefined;
  return { provider, kind: kindOf(dataKind), data, text };
}

function kindOf(kind: JsonValue | undefined): EnvelopeKind {
  return kind === 'encrypted' ? 'redacted' : 'thinking';
}

/** The provider data of an envelope; undefined if nobody signed its reasoning. */
export function providerDataOf({ provider, kind, data }: Envelope): ProviderData | undefined {
  if (data === '') return undefined;
  return { provider, kind: kind === 'redacted' ? 'encrypted' : 'signature', data };
}

/** Writes the data of a part that stays visible to callers of Google's API. */
export function seal({ provider, kind, data }: ProviderData): string {
  return writeEnvelope({ provider, kind: kindOf(kind), data }, 'base64');
}

export function unseal(text: string): ProviderData | undefined {
  const envelope = openEnvelope(text);
  return envelope && providerDataOf(envelope);
}

/** Writes reasoning that a caller of Google's API doesn't see, with its text. */
export function sealReasoning({ text, providerData }: HiddenReasoning): string {
  const { provider = 'any', kind = 'signature', data = '' } = providerData ?? {};
  return writeEnvelope({ provider, kind: kindOf(kind), data, text }, 'base64');
}

export function unsealReasoning(text: string): HiddenReasoning | undefined {
  const envelope = openEnvelope(text);
  if (envelope?.text === undefined) return undefined;
  return { text: envelope.text, providerData: providerDataOf(envelope) };
}
