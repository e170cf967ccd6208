/**
 * Data that only its own provider understands: a signature, an encrypted thought. It rides along
 * with the part it belongs to and is written only to the provider it came from.
 */

/** A provider's own data. Never decoded, shown or logged. */
export interface Opaque {
  /** The dialect of the upstream that made it. */
  readonly provider: string;
  /**
   * `signature` vouches for the part it stands on; `encrypted` is a part whose text is hidden
   * (Anthropic's `redacted_thinking`).
   */
  readonly kind: 'signature' | 'encrypted';
  readonly data: string;
}

const mark = 'gw1';

/** How the Base64 of every envelope begins. */
export const envelopeBeginning = 'Z3cxO';

/**
 * The data in an envelope that names its provider, as Base64: what a foreign caller echoes blindly
 * (Google's clients do so with `thoughtSignature`) and gets back to where it came from.
 */
export function sealed({ provider, kind, data }: Opaque): string {
  return Buffer.from(`${mark}:${provider}:${kind}:${data}`).toString('base64');
}

/** What an envelope of ours holds, or undefined where the text is none. */
export function unsealed(text: string): Opaque | undefined {
  const open = Buffer.from(text, 'base64').toString('utf8');
  const [, provider, kind, data] = /^gw1:([a-z]+):(signature|encrypted):(.*)$/s.exec(open) ?? [];
  if (provider === undefined || data === undefined) return undefined;
  return { provider, kind: kind === 'encrypted' ? 'encrypted' : 'signature', data };
}
