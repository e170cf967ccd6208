/** Reads the usage of an embeddings reply, which has no output: one object for a whole batch. */
import type { JsonValue } from '../../json.ts';
import { noUsage, type Usage } from '../../money.ts';
import { countsIn } from './usage-counts.ts';
import { geminiRows, openaiRows, type UsageRows } from './usage-table.ts';

export function openaiEmbeddingUsage(usage: JsonValue | undefined): Usage | undefined {
  return usageBy(openaiRows, usage);
}

export function geminiEmbeddingUsage(usage: JsonValue | undefined): Usage | undefined {
  return usageBy(geminiRows, usage);
}

/**
 * No prompt is empty, so a 0 states none: LocalAI and other servers that don't count send zeros.
 */
function usageBy(rows: UsageRows, usage: JsonValue | undefined): Usage | undefined {
  const counts = countsIn(usage, rows);
  if (counts === undefined) return undefined;
  const { input = 0, output = 0, total = output } = counts;
  const { audioInput, imageInput, videoInput, documentInput, textInput = 0, remarks } = counts;
  const images = sumOf(imageInput, documentInput);
  const parts = textInput + (audioInput ?? 0) + (images ?? 0) + (videoInput ?? 0);
  const inputTokens = Math.max(input, total - output) || parts;
  if (inputTokens === 0) return undefined;
  const isOff = input > 0 && total > output && total - output !== input;
  const most = (tokens: number | undefined): number | undefined =>
    tokens === undefined ? undefined : Math.min(tokens, inputTokens);
  return {
    ...noUsage,
    inputTokens,
    audioInputTokens: most(audioInput),
    // The pages of a document are images to the model.
    imageInputTokens: most(images),
    videoInputTokens: most(videoInput),
    ...(isOff || remarks !== undefined
      ? { remarks: { ...remarks, ...(isOff ? { isInconsistent: true } : {}) } }
      : {}),
  };
}

function sumOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : one + (other ?? 0);
}
