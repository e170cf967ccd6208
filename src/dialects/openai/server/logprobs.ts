/** Writes the logprobs of OpenAI's APIs. */
import { jsonText, quoted, type RawJson, rawJson } from '../../../canonical/raw-json.ts';
import type { TokenLogprob } from '../../../canonical/reply.ts';
import type { JsonNumber } from '../../../json.ts';

/** As text at once: 20 alternatives to each of 16,384 tokens would be 2 million values. */
export function logprobPieces(tokens: readonly TokenLogprob[]): readonly RawJson[] {
  return tokens.map(({ token, logprob, top }) => {
    const others = top.map((other) => `{${tokenMembers(other.token, other.logprob)}}`);
    return rawJson(`{${tokenMembers(token, logprob)},"top_logprobs":[${others.join(',')}]}`);
  });
}

function tokenMembers(token: string, logprob: JsonNumber): string {
  const bytes = Buffer.from(token).join(',');
  return `"token":${quoted(token)},"logprob":${jsonText(logprob)},"bytes":[${bytes}]`;
}
