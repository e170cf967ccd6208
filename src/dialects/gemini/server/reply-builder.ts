/** Collects the events of a reply: its candidates and the members next to them. */
import { quoted } from '../../../canonical/raw-json.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import type { ReplyHead } from '../../codec.ts';
import { Candidate } from './candidate.ts';
import { promptFeedback } from './finish.ts';
import { usageMetadata } from './usage.ts';

export class ReplyBuilder {
  readonly #head: ReplyHead;
  readonly #candidates = new Map<number, Candidate>();
  readonly #dropped = new Set<string>();
  #prompt: string | undefined;
  #usage = '';
  #tail: string;

  constructor(head: ReplyHead) {
    this.#head = head;
    this.#tail = tailOf(head.modelId, head.fallbackId);
  }

  /** The stage that runs the call reports an unusable reply as a failure. */
  add(event: ContentEvent): void {
    const { modelId, fallbackId } = this.#head;
    if ('choice' in event) this.candidate(event.choice).add(event);
    else if (event.type === 'usage') this.#usage = usageMetadata(event.usage);
    else if (event.type === 'blocked') this.#prompt = promptFeedback(event.reason, event.message);
    else if (event.type === 'start') {
      this.#tail = tailOf(event.model ?? modelId, event.id ?? fallbackId);
    }
  }

  /** The candidate with this index, created if it doesn't exist. */
  candidate(index: number): Candidate {
    const known = this.#candidates.get(index);
    if (known !== undefined) return known;
    const drop = (name: string): void => void this.#dropped.add(name);
    const hidesReasoning = this.#head.hidesReasoning === true;
    const fresh = new Candidate(index, { drop, hidesReasoning });
    this.#candidates.set(index, fresh);
    return fresh;
  }

  /** The candidates in the order of their first events. */
  candidates(): Iterable<Candidate> {
    return this.#candidates.values();
  }

  candidatesByIndex(): readonly Candidate[] {
    return [...this.#candidates.values()].sort((one, other) => one.index - other.index);
  }

  /** The `promptFeedback` that replaces the candidates if the prompt was blocked. */
  prompt(): string | undefined {
    return this.#prompt;
  }

  /** The usage so far, preceded by a comma. */
  usage(): string {
    return this.#usage;
  }

  /** The end of a document: version and id preceded by a comma, and the closing brace. */
  tail(): string {
    return this.#tail;
  }

  dropped(): readonly string[] {
    return [...this.#dropped];
  }
}

function tailOf(model: string, id: string): string {
  return `,"modelVersion":${quoted(model)},"responseId":${quoted(id)}}`;
}
