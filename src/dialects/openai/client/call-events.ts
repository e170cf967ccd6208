/**
 * Writes the tool calls of a choice as events. The first call that isn't over streams as its pieces
 * come; the calls after it are held back, because vendors interleave their pieces, and follow
 * whole.
 */

import { newCallId } from '../../../canonical/call-ids.ts';
import { customArguments } from '../../../canonical/custom-tools.ts';
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { mayCutLastCall } from './finish.ts';
import type { HeldCall, ToolSlots } from './tool-slots.ts';

export interface CallContext {
  readonly names: FunctionNames;
  readonly ids: () => string;
}

interface OpenCall {
  readonly call: number;
  readonly providerData: ProviderData | undefined;
  sentChars: number;
}

export class CallEvents {
  readonly #choice: number;
  readonly #slots: ToolSlots;
  readonly #context: CallContext;
  /** The position of the first call that has not ended. */
  #position = 0;
  #open: OpenCall | undefined;
  /** The number of calls that have begun. */
  #count = 0;
  readonly #takenIds = new Set<string>();
  #sentChars = 0;
  #firstSignature: ProviderData | undefined;

  constructor(choice: number, slots: ToolSlots, context: CallContext) {
    this.#choice = choice;
    this.#slots = slots;
    this.#context = context;
  }

  /** `signature` is the message's so far; it belongs to a first call that has none of its own. */
  next(signature: ProviderData | undefined): readonly ContentEvent[] {
    const events: ContentEvent[] = [];
    while (this.#slots.isFollowed(this.#position)) {
      this.#endCall(events, { signature, isCut: false });
    }
    this.#continueCall(events, signature);
    return events;
  }

  /** Ends the open call if it is whole, because other content follows. */
  endWhole(): readonly ContentEvent[] {
    const events: ContentEvent[] = [];
    if (this.#open !== undefined && this.#slots.isWhole(this.#position)) {
      this.#endCall(events, { signature: undefined, isCut: false });
    }
    return events;
  }

  heldChars(): number {
    return this.#slots.argumentChars() - this.#sentChars;
  }

  /**
   * Sends what the current call has got. It begins when its id, its name and the first of its
   * arguments are known: until then pieces may add to the name, and an id that comes later could no
   * longer be sent. A call that never gets an id is held back, and so is the text of a custom call,
   * whose JSON form needs all of it.
   */
  #continueCall(events: ContentEvent[], signature: ProviderData | undefined): void {
    const slot = this.#slots.at(this.#position);
    if (slot === undefined || slot.name === '' || slot.id === '' || slot.isCustom) return;
    if (slot.arguments === '') return;
    this.#open ??= this.#begin(events, { slot, text: '', signature });
    this.#sendArguments(this.#open, { slot, events });
  }

  #begin(
    events: ContentEvent[],
    given: {
      readonly slot: HeldCall;
      readonly text: string;
      readonly signature: ProviderData | undefined;
    },
  ): OpenCall {
    const { slot, text, signature } = given;
    const choice = this.#choice;
    const call = this.#count;
    const providerData = slot.providerData ?? (call === 0 ? signature : undefined);
    if (call === 0) this.#firstSignature = providerData;
    const isUnique = slot.id !== '' && !this.#takenIds.has(slot.id);
    const id = isUnique ? slot.id : newCallId(this.#context.ids);
    this.#takenIds.add(slot.id);
    this.#count += 1;
    const name = this.#context.names.caller(slot.name);
    events.push({ type: 'tool_begin', choice, call, id, name, arguments: text, providerData });
    return { call, providerData, sentChars: 0 };
  }

  #sendArguments(
    open: OpenCall,
    { slot, events }: { readonly slot: HeldCall; readonly events: ContentEvent[] },
  ): void {
    const text = slot.arguments.slice(open.sentChars);
    if (text === '') return;
    events.push({ type: 'tool_arguments', choice: this.#choice, call: open.call, text });
    open.sentChars += text.length;
    this.#sentChars += text.length;
  }

  /** Ends the current call, or leaves it out if it has no name. The next one becomes current. */
  #endCall(
    events: ContentEvent[],
    given: { readonly signature: ProviderData | undefined; readonly isCut: boolean },
  ): void {
    const position = this.#position;
    const open = this.#open;
    const slot = this.#slots.at(position);
    this.#open = undefined;
    this.#position += 1;
    if (slot === undefined) return;
    this.#slots.close(position);
    if (open !== undefined) {
      this.#sendArguments(open, { slot, events });
      events.push({ type: 'tool_end', choice: this.#choice, call: open.call });
      return addLateSignature(events, this.#choice, { slot, open });
    }
    this.#sentChars += slot.arguments.length;
    if (slot.name === '') return;
    const text = argumentsOf(slot, given.isCut);
    const { call } = this.#begin(events, { slot, text, signature: given.signature });
    events.push({ type: 'tool_end', choice: this.#choice, call });
  }

  end(signature: ProviderData | undefined, finishReason: string): readonly ContentEvent[] {
    const events: ContentEvent[] = [];
    if (signature !== undefined && !this.#isWithFirstCall(signature)) {
      events.push({ type: 'text', choice: this.#choice, text: '', providerData: signature });
    }
    const last = this.#slots.calls().at(-1);
    let slot = this.#slots.at(this.#position);
    while (slot !== undefined) {
      this.#endCall(events, { signature, isCut: slot === last && mayCutLastCall(finishReason) });
      slot = this.#slots.at(this.#position);
    }
    return events;
  }

  #isWithFirstCall(signature: ProviderData): boolean {
    if (this.#count > 0) return this.#firstSignature === signature;
    const [first] = this.#slots.calls();
    return first !== undefined && first.providerData === undefined;
  }
}

/** A signature that came after the beginning of its call is sent after the call. */
function addLateSignature(
  events: ContentEvent[],
  choice: number,
  { slot, open }: { readonly slot: HeldCall; readonly open: OpenCall },
): void {
  const { providerData } = slot;
  if (providerData === undefined || open.providerData !== undefined) return;
  events.push({ type: 'text', choice, text: '', providerData });
}

export function argumentTexts(slots: ToolSlots, finishReason: string): readonly string[] {
  const calls = slots.calls();
  const last = calls.at(-1);
  return calls.map((call) => argumentsOf(call, call === last && mayCutLastCall(finishReason)));
}

/**
 * Only the finish shows whether the text of a custom call was truncated. If it was, its arguments
 * must not look complete.
 */
function argumentsOf(call: HeldCall, isCut: boolean): string {
  if (!call.isCustom) return call.arguments;
  const text = customArguments(call.arguments);
  return isCut ? text.slice(0, -1) : text;
}
