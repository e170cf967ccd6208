/**
 * Data that only its own provider understands: a signature, an encrypted thought. It rides along
 * with the part it belongs to and is written only to the provider it came from.
 */

import { items, parseJson } from '../json.ts';
import { jsonText } from './raw-json.ts';

/** A provider's own data. Never decoded, shown or logged. */
export interface ProviderData {
  /** The dialect of the upstream that made it. */
  readonly provider: string;
  /**
   * `signature` vouches for the part it stands on; `encrypted` is a part whose text is hidden
   * (Anthropic's `redacted_thinking`).
   */
  readonly kind: 'signature' | 'encrypted';
  readonly data: string;
}

/** Reasoning that a caller did not ask to see, and that its provider wants back all the same. */
export interface HiddenReasoning {
  readonly text: string;
  /** Undefined where nothing vouches for the text. */
  readonly providerData: ProviderData | undefined;
}

const mark = 'gw1';

/** How the Base64 of every envelope begins. */
export const envelopePrefix = 'Z3cxO';

/**
 * The data in an envelope that names its provider, as Base64: what a foreign caller echoes blindly
 * (Google's clients do so with `thoughtSignature`) and gets back to where it came from.
 */
export function seal({ provider, kind, data }: ProviderData): string {
  return Buffer.from(`${mark}:${provider}:${kind}:${data}`).toString('base64');
}

/** What an envelope of ours holds, or undefined where the text is none. */
export function unseal(text: string): ProviderData | undefined {
  const open = Buffer.from(text, 'base64').toString('utf8');
  const [, provider, kind, data] = /^gw1:([a-z]+):(signature|encrypted):(.*)$/s.exec(open) ?? [];
  if (provider === undefined || data === undefined) return undefined;
  return { provider, kind: kind === 'encrypted' ? 'encrypted' : 'signature', data };
}

/** Hidden reasoning in such an envelope, with its text: a signature vouches for that. */
export function sealReasoning({ text, providerData }: HiddenReasoning): string {
  const { provider = 'any', kind = 'signature', data = '' } = providerData ?? {};
  const inside = jsonText([kind, data, text]);
  return Buffer.from(`${mark}:${provider}:reasoning:${inside}`).toString('base64');
}

/** What was sealed so, or undefined where the text is no such envelope. */
export function unsealReasoning(text: string): HiddenReasoning | undefined {
  if (!text.startsWith(envelopePrefix)) return undefined;
  const open = Buffer.from(text, 'base64').toString('utf8');
  const [, provider, inside] = /^gw1:([a-z]+):reasoning:(.*)$/s.exec(open) ?? [];
  const [kind, data, reasoning] = items(parseJson(inside ?? ''));
  if (provider === undefined || typeof data !== 'string' || typeof reasoning !== 'string') {
    return undefined;
  }
  const isEncrypted = kind === 'encrypted';
  const providerData = { provider, kind: isEncrypted ? 'encrypted' : 'signature', data } as const;
  return { text: reasoning, providerData: data === '' ? undefined : providerData };
}
