/** Reads the usage of an OpenAI-shaped embeddings reply, which has no output tokens. */
import type { JsonValue } from '../../json.ts';
import { noUsage, type Usage } from '../../money.ts';
import { countIn } from '../usage-counts.ts';

/**
 * The usage of a `usage` object; undefined if it states none. No prompt is empty, so a 0 states
 * none: LocalAI and other servers that don't count send zeros.
 */
export function openaiEmbeddingUsage(usage: JsonValue | undefined): Usage | undefined {
  const inputTokens = countIn(usage, 'prompt_tokens') || countIn(usage, 'total_tokens');
  return inputTokens ? { ...noUsage, inputTokens } : undefined;
}
