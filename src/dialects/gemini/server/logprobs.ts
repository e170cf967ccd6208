/** Writes log probabilities in Google's format. */
import { type JsonNode, jsonText } from '../../../canonical/raw-json.ts';
import type { TokenLogprob } from '../../../canonical/reply.ts';
import { type JsonNumber, numberOf } from '../../../json.ts';

/** The tokens to be written, and the average over all tokens of the candidate. */
export interface LogprobList {
  add(tokens: readonly TokenLogprob[]): void;
  isEmpty(): boolean;
  /** Returns and clears the `logprobsResult` member, preceded by a comma; empty without tokens. */
  take(): string;
  /** The `avgLogprobs` member, preceded by a comma; empty if there never was a token. */
  average(): string;
}

/** Creates the list of one candidate. */
export function logprobList(): LogprobList {
  let waiting: TokenLogprob[] = [];
  let sum = 0;
  let count = 0;
  return {
    add: (tokens) => {
      for (const token of tokens) {
        waiting.push(token);
        sum += numberOf(token.logprob) ?? 0;
      }
      count += tokens.length;
    },
    isEmpty: () => waiting.length === 0,
    take: () => {
      const tokens = waiting;
      waiting = [];
      return tokens.length === 0 ? '' : `,"logprobsResult":${jsonText(resultOf(tokens))}`;
    },
    average: () => (count === 0 ? '' : `,"avgLogprobs":${jsonText(sum / count)}`),
  };
}

function resultOf(tokens: readonly TokenLogprob[]): JsonNode {
  const hasTop = tokens.some(({ top }) => top.length > 0);
  return {
    chosenCandidates: tokens.map(row),
    topCandidates: hasTop ? tokens.map(({ top }) => ({ candidates: top.map(row) })) : undefined,
  };
}

function row({
  token,
  logprob,
}: {
  readonly token: string;
  readonly logprob: JsonNumber;
}): JsonNode {
  return { token, logProbability: logprob };
}
