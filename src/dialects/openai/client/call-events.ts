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

export interface CallEvents {
  /** `signature` is the message's so far; it belongs to a first call that has none of its own. */
  next(signature: ProviderData | undefined): readonly ContentEvent[];
  /** Ends the open call if it is whole, because other content follows. */
  endWhole(): readonly ContentEvent[];
  end(signature: ProviderData | undefined, finishReason: string): readonly ContentEvent[];
  heldChars(): number;
}

interface OpenCall {
  readonly call: number;
  readonly providerData: ProviderData | undefined;
  sentChars: number;
}

interface WriterState extends CallContext {
  readonly choice: number;
  readonly slots: ToolSlots;
  /** The position of the first call that has not ended. */
  position: number;
  open: OpenCall | undefined;
  /** The number of calls that have begun. */
  count: number;
  readonly takenIds: Set<string>;
  sentChars: number;
  firstSignature: ProviderData | undefined;
}

export function callEvents(
  choice: number,
  slots: ToolSlots,
  { names, ids }: CallContext,
): CallEvents {
  const state: WriterState = {
    choice,
    slots,
    names,
    ids,
    position: 0,
    open: undefined,
    count: 0,
    takenIds: new Set(),
    sentChars: 0,
    firstSignature: undefined,
  };
  return {
    next: (signature) => {
      const events: ContentEvent[] = [];
      while (slots.isFollowed(state.position)) endCall(state, events, { signature, isCut: false });
      continueCall(state, events, signature);
      return events;
    },
    endWhole: () => {
      const events: ContentEvent[] = [];
      if (state.open !== undefined && slots.isWhole(state.position)) {
        endCall(state, events, { signature: undefined, isCut: false });
      }
      return events;
    },
    end: (signature, finishReason) => endAll(state, signature, finishReason),
    heldChars: () => slots.argumentChars() - state.sentChars,
  };
}

/**
 * Sends what the current call has got. It begins when its id, its name and the first of its
 * arguments are known: until then pieces may add to the name, and an id that comes later could no
 * longer be sent. A call that never gets an id is held back, and so is the text of a custom call,
 * whose JSON form needs all of it.
 */
function continueCall(
  state: WriterState,
  events: ContentEvent[],
  signature: ProviderData | undefined,
): void {
  const slot = state.slots.at(state.position);
  if (slot === undefined || slot.name === '' || slot.id === '' || slot.isCustom) return;
  if (slot.arguments === '') return;
  state.open ??= begin(state, events, { slot, text: '', signature });
  sendArguments(state, state.open, { slot, events });
}

function begin(
  state: WriterState,
  events: ContentEvent[],
  given: {
    readonly slot: HeldCall;
    readonly text: string;
    readonly signature: ProviderData | undefined;
  },
): OpenCall {
  const { choice, count: call, takenIds, names, ids } = state;
  const { slot, text, signature } = given;
  const providerData = slot.providerData ?? (call === 0 ? signature : undefined);
  if (call === 0) state.firstSignature = providerData;
  const isUnique = slot.id !== '' && !takenIds.has(slot.id);
  const id = isUnique ? slot.id : newCallId(ids);
  takenIds.add(slot.id);
  state.count += 1;
  const name = names.caller(slot.name);
  events.push({ type: 'tool_begin', choice, call, id, name, arguments: text, providerData });
  return { call, providerData, sentChars: 0 };
}

function sendArguments(
  state: WriterState,
  open: OpenCall,
  { slot, events }: { readonly slot: HeldCall; readonly events: ContentEvent[] },
): void {
  const text = slot.arguments.slice(open.sentChars);
  if (text === '') return;
  const { choice } = state;
  events.push({ type: 'tool_arguments', choice, call: open.call, text });
  open.sentChars += text.length;
  state.sentChars += text.length;
}

/** Ends the current call, or leaves it out if it has no name. The next one becomes the current. */
function endCall(
  state: WriterState,
  events: ContentEvent[],
  given: { readonly signature: ProviderData | undefined; readonly isCut: boolean },
): void {
  const { choice, slots, position, open } = state;
  const slot = slots.at(position);
  state.open = undefined;
  state.position += 1;
  if (slot === undefined) return;
  slots.close(position);
  if (open !== undefined) {
    sendArguments(state, open, { slot, events });
    events.push({ type: 'tool_end', choice, call: open.call });
    return addLateSignature(events, choice, { slot, open });
  }
  state.sentChars += slot.arguments.length;
  if (slot.name === '') return;
  const text = argumentsOf(slot, given.isCut);
  const { call } = begin(state, events, { slot, text, signature: given.signature });
  events.push({ type: 'tool_end', choice, call });
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

function endAll(
  state: WriterState,
  signature: ProviderData | undefined,
  finishReason: string,
): readonly ContentEvent[] {
  const { choice, slots } = state;
  const events: ContentEvent[] = [];
  if (signature !== undefined && !isWithFirstCall(state, signature)) {
    events.push({ type: 'text', choice, text: '', providerData: signature });
  }
  const last = slots.calls().at(-1);
  for (let slot = slots.at(state.position); slot !== undefined; slot = slots.at(state.position)) {
    endCall(state, events, { signature, isCut: slot === last && mayCutLastCall(finishReason) });
  }
  return events;
}

function isWithFirstCall(
  { count, firstSignature, slots }: WriterState,
  signature: ProviderData,
): boolean {
  if (count > 0) return firstSignature === signature;
  const [first] = slots.calls();
  return first !== undefined && first.providerData === undefined;
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
