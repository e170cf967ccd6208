/**
 * Writes the provider data of an assistant turn: `reasoning_details` in the form of OpenRouter and
 * similar servers, and signatures of models that are served through an OpenAI-compatible API.
 */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { Part } from '../../../canonical/request.ts';
import { parseExactly } from '../../../exact-numbers.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';

/** The text of each detail is the reasoning before it. */
export function reasoningDetails(
  parts: readonly Part[],
  flags: ResolvedCapabilities,
): readonly JsonNode[] {
  const details: JsonNode[] = [];
  let reasoning = '';
  for (const part of parts) {
    if (part.kind === 'reasoning' && !part.displayOnly) reasoning += part.text;
    const detail = part.providerData && detailOf(part.providerData, reasoning, flags);
    if (detail === undefined) continue;
    details.push(detail);
    reasoning = '';
  }
  return details;
}

/** Uses the form that Google's compatible endpoint expects. */
export function signatureMember(
  providerData: ProviderData | undefined,
  flags: ResolvedCapabilities,
): JsonNode | undefined {
  if (!flags.signatures || providerData?.provider !== 'gemini') return undefined;
  return { google: { thought_signature: providerData.data } };
}

export function sendsProviderData(
  { provider }: ProviderData,
  { kind }: Part,
  { signatures }: ResolvedCapabilities,
): boolean {
  return signatures && (kind === 'reasoning' ? provider !== 'gemini' : provider === 'gemini');
}

function detailOf(
  { provider, kind, data }: ProviderData,
  reasoning: string,
  flags: ResolvedCapabilities,
): JsonNode | undefined {
  // There are many compatible servers: only one that asks for such data may have produced it.
  if (!flags.signatures) return undefined;
  if (provider === 'openai') return openaiDetail(data, reasoning);
  if (provider !== 'anthropic') return undefined;
  const format = 'anthropic-claude-v1';
  return kind === 'encrypted'
    ? { type: 'reasoning.encrypted', data, format }
    : { type: 'reasoning.text', text: reasoning, signature: data, format };
}

/**
 * Details are flat. A deeply nested one could only be meant to exhaust the stack when it is
 * written.
 */
const maxDetailDepth = 16;

function isDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The caller may have made it up, so anything invalid is ignored. */
function openaiDetail(data: string, reasoning: string): JsonObject | undefined {
  const detail = parseExactly(data);
  if (!isJsonObject(detail) || isDeeper(detail, maxDetailDepth)) return undefined;
  // A stream delivers the text in pieces and the signature after them.
  return member(detail, 'type') === 'reasoning.text' ? { ...detail, text: reasoning } : detail;
}
