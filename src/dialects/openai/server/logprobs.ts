/** Writes the logprobs of OpenAI's APIs. */
import type { TokenLogprob } from '../../../canonical/reply.ts';
import type { JsonNumber } from '../../../json.ts';
import type { Piece } from './choice-sink.ts';

export function logprobPieces(tokens: readonly TokenLogprob[]): readonly Piece[] {
  return tokens.map(({ token, logprob, top }) => ({
    ...tokenPiece(token, logprob),
    top_logprobs: top.map((other) => tokenPiece(other.token, other.logprob)),
  }));
}

function tokenPiece(token: string, logprob: JsonNumber): Piece {
  return { token, logprob, bytes: [...Buffer.from(token)] };
}
