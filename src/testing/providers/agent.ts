/**
 * Models that call tools repeatedly, and the signatures of their reasoning: `any-agent-2` makes two
 * rounds of two parallel calls before its final text. Every other model calls once.
 */
import { createHash } from 'node:crypto';

/** How a model uses tools, by its name. */
export interface Agent {
  /** How many rounds of calls it makes before its final text. */
  readonly rounds: number;
  /** How many tools it calls in parallel; undefined for the default of the provider. */
  readonly callsAtOnce: number | undefined;
  /** Its reasoning and calls have individual signatures, which must match on their way back. */
  readonly signsEachRound: boolean;
}

const simple: Agent = { rounds: 1, callsAtOnce: undefined, signsEachRound: false };

export function agentOf(model: string): Agent {
  const rounds = /-agent-([1-9])$/.exec(model)?.[1];
  return rounds === undefined
    ? simple
    : { rounds: Number(rounds), callsAtOnce: 2, signsEachRound: true };
}

/** A signature in Base64 that reveals a changed text; the same in every run. */
export function signatureOf(text: string): string {
  return Buffer.from(`fake:${createHash('sha256').update(text).digest('hex')}`).toString('base64');
}
