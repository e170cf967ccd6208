/**
 * Reads the tool calls of one candidate. Vertex may stream a call in fragments, which are held
 * until the call is complete.
 */
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { checkToolCalls } from '../../reply-lists.ts';
import { type PartialArguments, partialArguments } from './partial-args.ts';

export interface CallReader {
  read(call: JsonObject, providerData: ProviderData | undefined): void;
  /** Ends the candidate. A call that is still incomplete was truncated and isn't emitted. */
  close(): void;
  hasTruncated(): boolean;
  count(): number;
}

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

interface PendingCall extends CallHead {
  readonly partial: PartialArguments;
}

export function callReader(context: CandidateContext): CallReader {
  let count = 0;
  let pending: PendingCall | undefined;
  let hasTruncated = false;

  const emitCall = (call: CallHead, json: string): void => {
    emitWhole(context, call, { call: count, json });
    count += 1;
  };

  const finish = (): void => {
    if (pending === undefined) return;
    const call = pending;
    pending = undefined;
    emitCall(call, call.partial.json());
  };

  return {
    read: (call, providerData) => {
      const name = nonEmpty(member(call, 'name'));
      const id = nonEmpty(member(call, 'id'));
      if (!continuesPending(pending, name, id)) {
        finish();
        // This only marks the end of a call that was already complete.
        if (name === undefined) return;
        const head = { name, id, providerData };
        if (!isPartial(call)) return emitCall(head, argumentsOf(call));
        pending = { ...head, partial: partialArgumentsOf(call) };
      }
      pending?.partial.add(member(call, 'partialArgs'));
      if (member(call, 'willContinue') !== true) finish();
    },
    close: () => {
      hasTruncated ||= pending !== undefined;
      pending = undefined;
    },
    hasTruncated: () => hasTruncated,
    count: () => count,
  };
}

function emitWhole(
  { choice, emit, callId, callerName }: CandidateContext,
  { id, name, providerData }: CallHead,
  { call, json }: { readonly call: number; readonly json: string },
): void {
  checkToolCalls(call);
  emit({
    type: 'tool_begin',
    choice,
    call,
    id: callId(id),
    name: callerName(name),
    arguments: json,
    ...(providerData === undefined ? {} : { providerData }),
  });
  emit({ type: 'tool_end', choice, call });
}

/** A call without a name, or with the id of the pending call, continues that call. */
function continuesPending(
  pending: PendingCall | undefined,
  name: string | undefined,
  id: string | undefined,
): boolean {
  return pending !== undefined && (name === undefined || (id !== undefined && id === pending.id));
}

function partialArgumentsOf(call: JsonObject): PartialArguments {
  const args = member(call, 'args');
  return partialArguments(isJsonObject(args) ? args : {});
}

function isPartial(call: JsonObject): boolean {
  return member(call, 'willContinue') === true || member(call, 'partialArgs') !== undefined;
}

function argumentsOf(call: JsonObject): string {
  const args = member(call, 'args') ?? undefined;
  // Writers decide by the finish whether a call without arguments was truncated.
  return args === undefined ? '' : jsonText(args);
}

function nonEmpty(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
