/**
 * Reads the calls of one candidate: whole ones, and those that Vertex streams in pieces, which are
 * held until they are complete (TRANSLATION §6.4, §7.2).
 */

import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { type PartialArguments, partialArguments } from './partial-args.ts';

/** The calls of a candidate, told one by one as they are complete. */
export interface CallReader {
  /** Takes a `functionCall` and the signature on its part. */
  read(call: JsonObject, providerData: ProviderData | undefined): void;
  /** Ends the reading: a call that is still held was cut, and is told to nobody. */
  close(): void;
  /** Whether the end has cut a call. */
  hasCut(): boolean;
  count(): number;
}

/** Where calls go, and what all candidates of a reply share. */
export interface CallContext {
  readonly choice: number;
  readonly say: (event: ContentEvent) => void;
  /** The upstream's id if no call of the reply has it yet, else a fresh one. */
  readonly callId: (upstreamId: string | undefined) => string;
  /** The name as the caller knows it. */
  readonly callerName: (upstreamName: string) => string;
}

interface HeldCall {
  readonly name: string;
  readonly id: string | undefined;
  readonly providerData: ProviderData | undefined;
  readonly partial: PartialArguments;
}

/** A fresh one for each candidate. */
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

  /** A call without a name goes on with the one before, and so does a repeat of its id. */
  const goesOn = (name: string | undefined, id: string | undefined): boolean =>
    held !== undefined && (name === undefined || (id !== undefined && id === held.id));

  return {
    read: (call, providerData) => {
      const name = nonEmpty(member(call, 'name'));
      const id = nonEmpty(member(call, 'id'));
      if (!goesOn(name, id)) {
        finish();
        // The end mark of a call that was whole already.
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
