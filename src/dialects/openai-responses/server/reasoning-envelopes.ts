/**
 * Writes the `encrypted_content` of reasoning items. One block of reasoning or one signature of the
 * upstream is one item, in the model's order, so that clients which send items back unread send
 * what the provider expects:
 *
 * - A `reasoning` event with a signature ends the item of the texts before it. Encrypted reasoning
 *   is an item of its own.
 * - The signature of a call completes the item of the reasoning right before it, or else is an item
 *   of its own directly before the call.
 * - The signature of a text is an item behind the message, which it ends.
 * - Other events end the item without a signature.
 */
import { type Envelope, writeEnvelope } from '../../../canonical/envelope.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { ToolCallBegin } from '../../../canonical/reply.ts';

/**
 * Writes the data of one block of reasoning.
 *
 * @param text the whole text of the block, which the signature authenticates
 */
export function reasoningEnvelope(text: string, { provider, kind, data }: ProviderData): string {
  return kind === 'encrypted'
    ? writeEnvelope({ provider, kind: 'redacted', data })
    : writeEnvelope({ provider, kind: 'thinking', data, text });
}

/**
 * Writes reasoning without a signature, for upstreams that need it back
 * (`needsReasoningBack` of the reply): clients shorten or drop the texts of an item, but send
 * `encrypted_content` back as it is.
 */
export function unsignedEnvelope(text: string): string {
  return writeEnvelope({ provider: 'any', kind: 'thinking', data: '', text });
}

/**
 * Writes the signature of a call; undefined if the call has none.
 *
 * @param text the text of the item that the signature completes, if it must be sent back
 */
export function callEnvelope(
  { id, providerData }: ToolCallBegin,
  text?: string | undefined,
): string | undefined {
  return signatureEnvelope(providerData, { kind: 'call', text, callId: id });
}

/** Writes the signature of a text; undefined if the text has none. */
export function textEnvelope(providerData: ProviderData | undefined): string | undefined {
  return signatureEnvelope(providerData, { kind: 'text' });
}

function signatureEnvelope(
  providerData: ProviderData | undefined,
  signed: Pick<Envelope, 'kind' | 'text' | 'callId'>,
): string | undefined {
  if (providerData === undefined) return undefined;
  const { provider, data } = providerData;
  return writeEnvelope({ provider, data, ...signed });
}
