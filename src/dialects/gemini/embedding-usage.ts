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
    countIn(usage, 'promptTokenCount') || countIn(usage, 'totalTokenCount') || sumOf(details);
  // No prompt is empty.
  if (inputTokens === 0) return undefined;
  return {
    ...noUsage,
    inputTokens,
    audioInputTokens: tokensOf(['AUDIO'], details, inputTokens),
    // The pages of a document are images to the model.
    imageInputTokens: tokensOf(['IMAGE', 'DOCUMENT'], details, inputTokens),
    videoInputTokens: tokensOf(['VIDEO'], details, inputTokens),
  };
}

/** A modality may be listed several times, once for each part. */
function tokensOf(
  modalities: readonly string[],
  details: readonly JsonValue[],
  most: number,
): number | undefined {
  const found = details.filter((detail) => modalities.includes(textOf(member(detail, 'modality'))));
  return found.length === 0 ? undefined : Math.min(sumOf(found), most);
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function sumOf(details: readonly JsonValue[]): number {
  return details.reduce<number>((sum, detail) => sum + countOrZero(detail, 'tokenCount'), 0);
}
