/**
 * The provider data of an assistant's turn on its way back: `reasoning_details` as OpenRouter and
 * its like gave them, and the signatures of models that hide behind an OpenAI-shaped door.
 */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { Part } from '../../../canonical/request.ts';
import { parseExactly } from '../../../exact-numbers.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';

/** The details in the order in which they came; each text is that of the thoughts before it. */
export function reasoningDetails(
  parts: readonly Part[],
  flags: ResolvedCapabilities,
): readonly JsonNode[] {
  const details: JsonNode[] = [];
  let reasoning = '';
  for (const part of parts) {
    if (part.kind === 'reasoning') reasoning += part.text;
    const detail = part.providerData && detailOf(part.providerData, reasoning, flags);
    if (detail === undefined) continue;
    details.push(detail);
    reasoning = '';
  }
  return details;
}

/** What Google's compatible endpoint wants back on a call. */
export function signatureMember(
  providerData: ProviderData | undefined,
  flags: ResolvedCapabilities,
): JsonNode | undefined {
  if (!flags.signatures || providerData?.provider !== 'gemini') return undefined;
  return { google: { thought_signature: providerData.data } };
}

function detailOf(
  { provider, kind, data }: ProviderData,
  reasoning: string,
  flags: ResolvedCapabilities,
): JsonNode | undefined {
  // Compatible servers are many: only one that asks for such data may be where it came from.
  if (!flags.signatures) return undefined;
  if (provider === 'openai') return openaiDetail(data, reasoning);
  if (provider !== 'anthropic') return undefined;
  const format = 'anthropic-claude-v1';
  return kind === 'encrypted'
    ? { type: 'reasoning.encrypted', data, format }
    : { type: 'reasoning.text', text: reasoning, signature: data, format };
}

/** Details are flat; nobody nests one but to exhaust the stack of what writes it. */
const maxDetailDepth = 16;

function isDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** A caller may have made the data up: what is no detail is nobody's. */
function openaiDetail(data: string, reasoning: string): JsonObject | undefined {
  const detail = parseExactly(data);
  if (!isJsonObject(detail) || isDeeper(detail, maxDetailDepth)) return undefined;
  // A stream brings the text in pieces, and the signature behind them.
  return member(detail, 'type') === 'reasoning.text' ? { ...detail, text: reasoning } : detail;
}
