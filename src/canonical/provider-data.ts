/**
 * Data that only its own provider understands, such as a signature or encrypted reasoning. It stays
 * attached to its part and is sent only to the provider that created it.
 */

import { items, parseJson } from '../json.ts';
import { jsonText } from './raw-json.ts';

/** Data created by one provider. Never decoded, shown or logged. */
export interface ProviderData {
  /** The dialect of the upstream that created it. */
  readonly provider: string;
  /**
   * `signature` authenticates the part that carries it; `encrypted` replaces the text of a part
   * that the provider hides (Anthropic's `redacted_thinking`).
   */
  readonly kind: 'signature' | 'encrypted';
  readonly data: string;
}

/**
 * Reasoning that the caller didn't ask to see, but that its provider needs back in the next
 * request.
 */
export interface HiddenReasoning {
  readonly text: string;
  /** Undefined if the provider didn't sign the reasoning. */
  readonly providerData: ProviderData | undefined;
}

const mark = 'gw1';

/** The first characters of every envelope in Base64. */
export const envelopePrefix = 'Z3cxO';

/**
 * Wraps the data in a Base64 envelope that names its provider. Clients of another provider echo the
 * envelope without looking inside (Google's do so with `thoughtSignature`), so that the data can be
 * returned to the provider that created it.
 */
export function seal({ provider, kind, data }: ProviderData): string {
  return Buffer.from(`${mark}:${provider}:${kind}:${data}`).toString('base64');
}

/** The contents of an envelope from {@link seal}, or undefined if the text isn't one. */
export function unseal(text: string): ProviderData | undefined {
  const open = Buffer.from(text, 'base64').toString('utf8');
  const [, provider, kind, data] = /^gw1:([a-z]+):(signature|encrypted):(.*)$/s.exec(open) ?? [];
  if (provider === undefined || data === undefined) return undefined;
  return { provider, kind: kind === 'encrypted' ? 'encrypted' : 'signature', data };
}

/**
 * Wraps hidden reasoning in such an envelope, including its text, which the signature
 * authenticates.
 */
export function sealReasoning({ text, providerData }: HiddenReasoning): string {
  const { provider = 'any', kind = 'signature', data = '' } = providerData ?? {};
  const inside = jsonText([kind, data, text]);
  return Buffer.from(`${mark}:${provider}:reasoning:${inside}`).toString('base64');
}

/** The contents of an envelope from {@link sealReasoning}, or undefined if the text isn't one. */
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
