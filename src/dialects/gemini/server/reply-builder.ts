/** Collects the events of a reply: its candidates and the members next to them. */
import { quoted } from '../../../canonical/raw-json.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import type { ReplyHead } from '../../codec.ts';
import { type Candidate, candidate } from './candidate.ts';
import { promptFeedback } from './finish.ts';
import { usageMetadata } from './usage-metadata.ts';

/** A reply under construction, whole or streamed. */
export interface ReplyBuilder {
  add(event: ContentEvent): void;
  /** The candidate with this index, created if it doesn't exist. */
  candidate(index: number): Candidate;
  /** The candidates in the order of their first events. */
  candidates(): Iterable<Candidate>;
  /** The `promptFeedback` that replaces the candidates if the prompt was blocked. */
  prompt(): string | undefined;
  /** The usage so far, preceded by a comma. */
  usage(): string;
  /** The end of a document: version and id preceded by a comma, and the closing brace. */
  tail(): string;
  dropped(): readonly string[];
}

/** Creates an empty reply. */
export function newReplyBuilder(head: ReplyHead): ReplyBuilder {
  const candidates = new Map<number, Candidate>();
  const dropped = new Set<string>();
  const drop = (name: string): void => void dropped.add(name);
  let tail = tailOf(head.modelId, head.fallbackId);
  let usage = '';
  let prompt: string | undefined;

  const candidateOf = (index: number): Candidate => {
    const known = candidates.get(index);
    if (known !== undefined) return known;
    const fresh = candidate(index, { drop, hidesReasoning: head.hidesReasoning === true });
    candidates.set(index, fresh);
    return fresh;
  };

  const add = (event: ContentEvent): void => {
    switch (event.type) {
      case 'start':
        tail = tailOf(event.model ?? head.modelId, event.id ?? head.fallbackId);
        return;
      case 'usage':
        usage = usageMetadata(event.usage);
        return;
      case 'blocked':
        prompt = promptFeedback(event.reason, event.message);
        return;
      case 'unusable':
        // The stage that runs the call reports this as a failure.
        return;
      default:
        candidateOf(event.choice).add(event);
    }
  };

  return {
    add,
    candidate: candidateOf,
    candidates: () => candidates.values(),
    prompt: () => prompt,
    usage: () => usage,
    tail: () => tail,
    dropped: () => [...dropped],
  };
}

/** The candidates in the order of their index. */
export function byIndex(candidates: Iterable<Candidate>): readonly Candidate[] {
  return [...candidates].sort((one, other) => one.index - other.index);
}

function tailOf(model: string, id: string): string {
  return `,"modelVersion":${quoted(model)},"responseId":${quoted(id)}}`;
}
