/**
 * Orders the events of a reply so that nothing comes between the beginning and the end of a tool
 * call. Upstreams may interleave the pieces of several calls, and output items are written one
 * after the other.
 */
import type { ChoiceEvent, ToolCallBegin } from '../canonical/reply.ts';

interface WaitingCall {
  readonly begin: ToolCallBegin;
  text: string;
  hasEnded: boolean;
}

export class CallOrder {
  readonly #pass: (event: ChoiceEvent) => void;
  readonly #calls = new Map<number, WaitingCall>();
  #waiting: (WaitingCall | ChoiceEvent[])[] = [];
  #openCall: number | undefined;

  constructor(pass: (event: ChoiceEvent) => void) {
    this.#pass = pass;
  }

  add(event: ChoiceEvent): void {
    if (this.#openCall === undefined) return this.#begin(event);
    if (!('call' in event)) return this.#wait(event);
    if (event.call !== this.#openCall) return this.#waitForCall(event);
    this.#pass(event);
    if (event.type === 'tool_end') this.#passWaiting();
  }

  /** Passes on what was held back. Calls that nothing has ended end now. */
  end(): void {
    for (const call of this.#calls.values()) call.hasEnded = true;
    if (this.#openCall === undefined) return;
    this.#pass({ type: 'tool_end', choice: 0, call: this.#openCall });
    this.#passWaiting();
  }

  #begin(event: ChoiceEvent): void {
    if (event.type === 'tool_begin') this.#openCall = event.call;
    this.#pass(event);
  }

  #wait(event: ChoiceEvent): void {
    const last = this.#waiting.at(-1);
    if (Array.isArray(last)) last.push(event);
    else this.#waiting.push([event]);
  }

  #waitForCall(event: Extract<ChoiceEvent, { readonly call: number }>): void {
    if (event.type === 'tool_begin') {
      const call: WaitingCall = { begin: event, text: event.arguments, hasEnded: false };
      this.#calls.set(event.call, call);
      this.#waiting.push(call);
      return;
    }
    const call = this.#calls.get(event.call);
    if (call === undefined) return;
    if (event.type === 'tool_end') call.hasEnded = true;
    else call.text += event.text;
  }

  /** Passes on what waited for the open call, up to the next call that hasn't ended yet. */
  #passWaiting(): void {
    const waiting = this.#waiting;
    this.#openCall = undefined;
    for (const [position, next] of waiting.entries()) {
      if (Array.isArray(next)) {
        for (const event of next) this.#pass(event);
        continue;
      }
      const { begin: head, text, hasEnded } = next;
      this.#calls.delete(head.call);
      this.#pass({ ...head, arguments: text });
      if (!hasEnded) {
        this.#openCall = head.call;
        this.#waiting = waiting.slice(position + 1);
        return;
      }
      this.#pass({ type: 'tool_end', choice: head.choice, call: head.call });
    }
    this.#waiting = [];
  }
}
