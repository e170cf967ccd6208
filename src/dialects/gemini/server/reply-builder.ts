/** Collects the events of a reply: its candidates and the members next to them. */
import { quoted } from '../../../canonical/raw-json.ts';
import type { ChoiceEvent, ContentEvent } from '../../../canonical/reply.ts';
import type { ReplyHead } from '../../codec.ts';
import { type Candidate, candidate } from './candidate.ts';
import { promptFeedback } from './finish.ts';
import { usageMetadata } from './usage.ts';

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

interface ReplyMembers {
  tail: string;
  usage: string;
  prompt: string | undefined;
}

export function newReplyBuilder(head: ReplyHead): ReplyBuilder {
  const candidates = new Map<number, Candidate>();
  const dropped = new Set<string>();
  const drop = (name: string): void => void dropped.add(name);
  const tail = tailOf(head.modelId, head.fallbackId);
  const members: ReplyMembers = { tail, usage: '', prompt: undefined };

  const candidateOf = (index: number): Candidate => {
    const known = candidates.get(index);
    if (known !== undefined) return known;
    const fresh = candidate(index, { drop, hidesReasoning: head.hidesReasoning === true });
    candidates.set(index, fresh);
    return fresh;
  };

  return {
    add: (event) => {
      if ('choice' in event) candidateOf(event.choice).add(event);
      else setMember(members, event, head);
    },
    candidate: candidateOf,
    candidates: () => candidates.values(),
    prompt: () => members.prompt,
    usage: () => members.usage,
    tail: () => members.tail,
    dropped: () => [...dropped],
  };
}

function setMember(
  members: ReplyMembers,
  event: Exclude<ContentEvent, ChoiceEvent>,
  head: ReplyHead,
): void {
  switch (event.type) {
    case 'start':
      members.tail = tailOf(event.model ?? head.modelId, event.id ?? head.fallbackId);
      return;
    case 'usage':
      members.usage = usageMetadata(event.usage);
      return;
    case 'blocked':
      members.prompt = promptFeedback(event.reason, event.message);
      return;
    case 'unusable':
      // The stage that runs the call reports this as a failure.
      return;
  }
}

export function byIndex(candidates: Iterable<Candidate>): readonly Candidate[] {
  return [...candidates].sort((one, other) => one.index - other.index);
}

function tailOf(model: string, id: string): string {
  return `,"modelVersion":${quoted(model)},"responseId":${quoted(id)}}`;
}
