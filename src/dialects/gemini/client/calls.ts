/**
 * Reads the tool calls of one candidate. Vertex may stream a call in fragments, which are held
 * until the call is complete.
 */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, type JsonObject, member, nonEmpty } from '../../../json.ts';
import { checkToolCalls } from '../../reply-lists.ts';
import { type PartialArguments, partialArguments } from './partial-args.ts';

export interface CandidateContext {
  readonly choice: number;
  readonly emit: (event: ContentEvent) => void;
  /** The upstream's id if it is unused in this reply, else a new id. */
  readonly callId: (upstreamId: string | undefined) => string;
  readonly callerName: (upstreamName: string) => string;
}

interface CallHead {
  readonly name: string;
  readonly id: string | undefined;
  readonly providerData: ProviderData | undefined;
}

export class CallReader {
  readonly #context: CandidateContext;
  #count = 0;
  #pending: (CallHead & { readonly partial: PartialArguments }) | undefined;
  #hasTruncated = false;

  constructor(context: CandidateContext) {
    this.#context = context;
  }

  read(call: JsonObject, providerData: ProviderData | undefined): void {
    const name = nonEmpty(member(call, 'name'));
    const id = nonEmpty(member(call, 'id'));
    if (!this.#continuesPending(name, id)) {
      this.#finish();
      // This only marks the end of a call that was already complete.
      if (name === undefined) return;
      const head = { name, id, providerData };
      if (!isPartial(call)) return this.#emit(head, argumentsOf(call));
      const args = member(call, 'args');
      this.#pending = { ...head, partial: partialArguments(isJsonObject(args) ? args : {}) };
    }
    this.#pending?.partial.add(member(call, 'partialArgs'));
    if (member(call, 'willContinue') !== true) this.#finish();
  }

  /** Ends the candidate. A call that is still incomplete was truncated and isn't emitted. */
  close(): void {
    this.#hasTruncated ||= this.#pending !== undefined;
    this.#pending = undefined;
  }

  hasTruncated(): boolean {
    return this.#hasTruncated;
  }

  count(): number {
    return this.#count;
  }

  /** A call without a name, or with the id of the pending call, continues that call. */
  #continuesPending(name: string | undefined, id: string | undefined): boolean {
    if (this.#pending === undefined) return false;
    return name === undefined || (id !== undefined && id === this.#pending.id);
  }

  #finish(): void {
    const call = this.#pending;
    this.#pending = undefined;
    if (call !== undefined) this.#emit(call, call.partial.json());
  }

  #emit({ id, name, providerData }: CallHead, json: string): void {
    const { choice, emit, callId, callerName } = this.#context;
    const call = this.#count;
    checkToolCalls(call);
    const names = { id: callId(id), name: callerName(name) };
    const data = providerData === undefined ? {} : { providerData };
    emit({ type: 'tool_begin', choice, call, ...names, arguments: json, ...data });
    emit({ type: 'tool_end', choice, call });
    this.#count += 1;
  }
}

function isPartial(call: JsonObject): boolean {
  return member(call, 'willContinue') === true || member(call, 'partialArgs') !== undefined;
}

function argumentsOf(call: JsonObject): string {
  const args = member(call, 'args') ?? undefined;
  // Writers decide by the finish whether a call without arguments was truncated.
  return args === undefined ? '' : jsonText(args);
}
