/** What tests ask of events: which ones matter to them, and what must be true of every one. */
import type { GatewayEvent } from '../../../src/events/events.ts';

/** The end of an attempt that failed. */
export type FailedAttempt = Extract<GatewayEvent, { readonly type: 'attempt_ended' }>;

/** Whether the event is the end of an attempt that failed, for another reason than its caller. */
export function isFailedAttempt(event: GatewayEvent): event is FailedAttempt {
  return (
    event.type === 'attempt_ended' && event.reason !== undefined && event.reason !== 'caller_left'
  );
}

/** Events of every call's regular course, and of refusals that the reply states as well. */
const routine: ReadonlySet<string> = new Set([
  'call_refused',
  'call_repeated',
  'call_started',
  'attempt_started',
  'first_byte',
  'attempt_ended',
  'stored_reply_read',
]);

/** Whether the event reports more than the regular course of a call. */
export function isNotable(event: GatewayEvent): boolean {
  return isFailedAttempt(event) || !routine.has(event.type);
}

/** @throws Error if a log could not write the event, or if a part of it is lost in writing */
export function checkEvent(event: GatewayEvent): void {
  const written: unknown = JSON.parse(JSON.stringify(event));
  const isWhole = typeof written === 'object' && written !== null && 'type' in written;
  if (!isWhole || written.type !== event.type) throw new Error(`${event.type} was not written`);
}
