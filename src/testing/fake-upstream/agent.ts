/**
 * Models that go on calling tools, and the seals on what they thought: `any-agent-2` calls two
 * tools at once in two rounds before it answers. Every other model calls once.
 */
import { createHash } from 'node:crypto';

/** How a model of this name uses tools. */
export interface Agent {
  /** How many times it calls before it answers. */
  readonly rounds: number;
  /** How many tools it calls at once, where nothing else is said. */
  readonly callsAtOnce: number | undefined;
  /** Its seals vouch for just what they stand on, and no other will do. */
  readonly isSealed: boolean;
}

const simple: Agent = { rounds: 1, callsAtOnce: undefined, isSealed: false };

/** The agent of this name. */
export function agentOf(model: string): Agent {
  const rounds = /-agent-([1-9])$/.exec(model)?.[1];
  return rounds === undefined ? simple : { rounds: Number(rounds), callsAtOnce: 2, isSealed: true };
}

/** What a provider signs, so that a changed text is found out: Base64, alike in every run. */
export function sealOf(text: string): string {
  return Buffer.from(`fake:${createHash('sha256').update(text).digest('hex')}`).toString('base64');
}
