/**
 * Orders the events of a reply so that nothing comes between the beginning and the end of a tool
 * call. Upstreams may interleave the pieces of several calls, and output items are written one
 * after the other.
 */
import type { ChoiceEvent, ToolCallBegin } from '../canonical/reply.ts';

export interface CallOrder {
  add(event: ChoiceEvent): void;
  /** Passes on what was held back. Calls that nothing has ended end now. */
  end(): void;
}

interface WaitingCall {
  readonly begin: ToolCallBegin;
  text: string;
  hasEnded: boolean;
}

type Waiting = WaitingCall | ChoiceEvent[];

interface OrderState {
  readonly pass: (event: ChoiceEvent) => void;
  openCall: number | undefined;
  waiting: Waiting[];
  readonly calls: Map<number, WaitingCall>;
}

export function callOrder(pass: (event: ChoiceEvent) => void): CallOrder {
  const state: OrderState = { pass, openCall: undefined, waiting: [], calls: new Map() };
  return {
    add: (event) => {
      if (state.openCall === undefined) return begin(state, event);
      if (!('call' in event)) return wait(state, event);
      if (event.call !== state.openCall) return waitForCall(state, event);
      pass(event);
      if (event.type === 'tool_end') passWaiting(state);
    },
    end: () => {
      for (const call of state.calls.values()) call.hasEnded = true;
      if (state.openCall === undefined) return;
      pass({ type: 'tool_end', choice: 0, call: state.openCall });
      passWaiting(state);
    },
  };
}

function begin(state: OrderState, event: ChoiceEvent): void {
  if (event.type === 'tool_begin') state.openCall = event.call;
  state.pass(event);
}

function wait({ waiting }: OrderState, event: ChoiceEvent): void {
  const last = waiting.at(-1);
  if (Array.isArray(last)) last.push(event);
  else waiting.push([event]);
}

function waitForCall(
  { waiting, calls }: OrderState,
  event: Extract<ChoiceEvent, { readonly call: number }>,
): void {
  if (event.type === 'tool_begin') {
    const call: WaitingCall = { begin: event, text: event.arguments, hasEnded: false };
    calls.set(event.call, call);
    waiting.push(call);
    return;
  }
  const call = calls.get(event.call);
  if (call === undefined) return;
  if (event.type === 'tool_end') call.hasEnded = true;
  else call.text += event.text;
}

/** Passes on what waited for the open call, up to the next call that hasn't ended yet. */
function passWaiting(state: OrderState): void {
  const { waiting, calls, pass } = state;
  state.openCall = undefined;
  for (const [position, next] of waiting.entries()) {
    if (Array.isArray(next)) {
      for (const event of next) pass(event);
      continue;
    }
    const { begin: head, text, hasEnded } = next;
    calls.delete(head.call);
    pass({ ...head, arguments: text });
    if (!hasEnded) {
      state.openCall = head.call;
      state.waiting = waiting.slice(position + 1);
      return;
    }
    pass({ type: 'tool_end', choice: head.choice, call: head.call });
  }
  state.waiting = [];
}
