/**
 * Writes the envelopes in which callers of other APIs carry reasoning and signatures. Each holds
 * one block of reasoning or one signature of the upstream, so that clients which send a block back
 * unread send what the provider expects.
 */
import { type Envelope, writeEnvelope } from './envelope.ts';
import type { ProviderData } from './provider-data.ts';
import type { ToolCallBegin } from './reply.ts';

/**
 * Writes the data of one block of reasoning.
 *
 * @param text the whole text of the block, which the signature authenticates; undefined if the text
 *   is sent beside the envelope
 */
export function reasoningEnvelope(
  text: string | undefined,
  { provider, kind, data }: ProviderData,
): string {
  return kind === 'encrypted'
    ? writeEnvelope({ provider, kind: 'redacted', data })
    : writeEnvelope({ provider, kind: 'thinking', data, text });
}

/**
 * Writes reasoning without a signature.
 *
 * @param text given for upstreams that need it back (`needsReasoningBack` of the reply), if the
 *   clients may shorten or drop the text beside the envelope, but send the envelope as it is
 */
export function unsignedEnvelope(text?: string | undefined): string {
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
