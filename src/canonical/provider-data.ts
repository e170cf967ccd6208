/**
 * Data that only its own provider understands, such as a signature or encrypted reasoning. It stays
 * attached to its part and is sent only to the provider that created it.
 */

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
