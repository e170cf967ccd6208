/** What a call with a usage must cost: the oracle of the tests of usage objects. */
import type { Usage } from '../../../src/money.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';

/** Nanos of a token of each kind, so different that a charge shows the counts that it is for. */
const rates = {
  input: 1_000_000n,
  cachedInput: 10_000n,
  cacheWrite5m: 2_000_000n,
  cacheWrite1h: 4_000_000n,
  output: 7_000_000n,
  reasoning: 5_000_000n,
  audioInput: 3_000_000n,
  imageInput: 6_000_000n,
  videoInput: 8_000_000n,
  audioOutput: 9_000_000n,
  imageOutput: 11_000_000n,
};
/** A model with these rates. */
export const ratedModel: Pick<Model, 'price'> = {
  price: { per: 'token', rates, members: { web_search: {}, web_fetch: {} } },
};

/** The cost of these counts, in which each token is in one kind. */
export function costOf(usage: Usage): bigint {
  const { inputTokens, cachedInputTokens: cached, outputTokens } = usage;
  const kinds: readonly (readonly [number, bigint])[] = [
    [cached, rates.cachedInput],
    [usage.cacheWrite5mTokens ?? 0, rates.cacheWrite5m],
    [usage.cacheWrite1hTokens ?? 0, rates.cacheWrite1h],
    [usage.audioInputTokens ?? 0, rates.audioInput],
    [usage.imageInputTokens ?? 0, rates.imageInput],
    [usage.videoInputTokens ?? 0, rates.videoInput],
  ];
  const made: readonly (readonly [number, bigint])[] = [
    [usage.reasoningTokens ?? 0, rates.reasoning],
    [usage.audioOutputTokens ?? 0, rates.audioOutput],
    [usage.imageOutputTokens ?? 0, rates.imageOutput],
  ];
  const sum = (parts: typeof kinds, whole: number, rest: bigint): bigint => {
    const inside = parts.reduce((all, [tokens]) => all + tokens, 0);
    const other = BigInt(Math.max(0, whole - inside)) * rest;
    return parts.reduce((all, [tokens, rate]) => all + BigInt(tokens) * rate, other);
  };
  const millionths = sum(kinds, inputTokens, rates.input) + sum(made, outputTokens, rates.output);
  return (millionths + 999_999n) / 1_000_000n;
}
