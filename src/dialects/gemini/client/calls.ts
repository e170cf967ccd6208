/**
 * Reads the tool calls of one candidate. Vertex may stream a call in fragments, which are held
 * until the call is complete.
 */

import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { type PartialArguments, partialArguments } from './partial-args.ts';

/** Reads the calls of a candidate and emits each one when it is complete. */
export interface CallReader {
  /** Reads a `functionCall`, with the signature of its part. */
  read(call: JsonObject, providerData: ProviderData | undefined): void;
  /** Ends the candidate. A call that is still incomplete was truncated and isn't emitted. */
  close(): void;
  /** Whether a call was truncated. */
  hasCut(): boolean;
  count(): number;
}

/** Where events are emitted, and what all candidates of a reply share. */
export interface CallContext {
  readonly choice: number;
  readonly say: (event: ContentEvent) => void;
  /** The upstream's id if it is unused in this reply, else a new id. */
  readonly callId: (upstreamId: string | undefined) => string;
  /** Maps a function name back to the caller's name. */
  readonly callerName: (upstreamName: string) => string;
}

interface HeldCall {
  readonly name: string;
  readonly id: string | undefined;
  readonly providerData: ProviderData | undefined;
  readonly partial: PartialArguments;
}

/** Creates the reader of one candidate's calls. */
export function callReader(surroundings: CallContext): CallReader {
  let count = 0;
  let held: HeldCall | undefined;
  let hasCut = false;

  const tell = (call: Omit<HeldCall, 'partial'>, json: string): void => {
    const { choice, say, callId, callerName } = surroundings;
    say({
      type: 'tool_begin',
      choice,
      call: count,
      id: callId(call.id),
      name: callerName(call.name),
      arguments: json,
      ...(call.providerData === undefined ? {} : { providerData: call.providerData }),
    });
    say({ type: 'tool_end', choice, call: count });
    count += 1;
  };

  const finish = (): void => {
    if (held === undefined) return;
    const call = held;
    held = undefined;
    tell(call, call.partial.json());
  };

  const cut = (): void => {
    hasCut ||= held !== undefined;
    held = undefined;
  };

  /** A call without a name, or with the id of the pending call, continues that call. */
  const goesOn = (name: string | undefined, id: string | undefined): boolean =>
    held !== undefined && (name === undefined || (id !== undefined && id === held.id));

  return {
    read: (call, providerData) => {
      const name = nonEmpty(member(call, 'name'));
      const id = nonEmpty(member(call, 'id'));
      if (!goesOn(name, id)) {
        finish();
        // This only marks the end of a call that was already complete.
        if (name === undefined) return;
        if (!isPartial(call)) return tell({ name, id, providerData }, argumentsOf(call));
        const args = member(call, 'args');
        held = {
          name,
          id,
          providerData,
          partial: partialArguments(isJsonObject(args) ? args : {}),
        };
      }
      held?.partial.add(member(call, 'partialArgs'));
      if (member(call, 'willContinue') !== true) finish();
    },
    close: cut,
    hasCut: () => hasCut,
    count: () => count,
  };
}

function isPartial(call: JsonObject): boolean {
  return member(call, 'willContinue') === true || member(call, 'partialArgs') !== undefined;
}

function argumentsOf(call: JsonObject): string {
  return jsonText(member(call, 'args') ?? {});
}

function nonEmpty(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
