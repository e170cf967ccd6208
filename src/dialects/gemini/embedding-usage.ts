/** Reads the usage of a Gemini embeddings reply, one object for a whole batch. */
import { items, type JsonValue, member } from '../../json.ts';
import { noUsage, type Usage } from '../../money.ts';
import { countIn, countOrZero } from '../usage-counts.ts';

/**
 * The usage of a `usageMetadata` object; undefined if it states none. Vertex calls the details
 * `promptTokensDetails`, the Gemini API `promptTokenDetails`.
 */
export function geminiEmbeddingUsage(usage: JsonValue | undefined): Usage | undefined {
  const details = [
    ...items(member(usage, 'promptTokenDetails')),
    ...items(member(usage, 'promptTokensDetails')),
  ];
  const inputTokens =
    countIn(usage, 'promptTokenCount') ??
    countIn(usage, 'totalTokenCount') ??
    (details.length === 0 ? undefined : sumOf(details));
  if (inputTokens === undefined) return undefined;
  return {
    ...noUsage,
    inputTokens,
    audioInputTokens: tokensOf('AUDIO', details, inputTokens),
    imageInputTokens: tokensOf('IMAGE', details, inputTokens),
    videoInputTokens: tokensOf('VIDEO', details, inputTokens),
  };
}

function tokensOf(
  modality: string,
  details: readonly JsonValue[],
  most: number,
): number | undefined {
  const found = details.find((detail) => member(detail, 'modality') === modality);
  const count = countIn(found, 'tokenCount');
  return count === undefined ? undefined : Math.min(count, most);
}

function sumOf(details: readonly JsonValue[]): number {
  return details.reduce<number>((sum, detail) => sum + countOrZero(detail, 'tokenCount'), 0);
}
