/** How an event of a Responses stream is passed on, and whether it ends the stream. */
import type { SseEvent } from '../../bytes/sse.ts';
import { type JsonObject, member } from '../../json.ts';
import { dataLines, framedEvent } from '../framed-event.ts';

/** Events that begin a stream and repeat the request. */
const firstTypes: ReadonlySet<string> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
]);

/** Whether an event says nothing except that the call is running. */
export function isFirst(type: string): boolean {
  return firstTypes.has(type);
}

/**
 * Whether an event is the last of its stream. An event of an unknown type is the last if its
 * response is no longer running, because vendors have types and status values of their own. Only
 * the first events and the last one contain the response.
 */
export function isTerminal(type: string, document: JsonObject): boolean {
  if (lastTypes.has(type)) return true;
  if (isFirst(type)) return false;
  const status = member(member(document, 'response'), 'status');
  return typeof status === 'string' && !runningStatuses.has(status);
}

const lastTypes: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);
const runningStatuses: ReadonlySet<string> = new Set(['in_progress', 'queued']);

/**
 * An event as it is passed on: unchanged if it consists of its name and one line of data, else with
 * nothing but these.
 */
export function relayedEvent(event: SseEvent, type: string): Uint8Array {
  const { raw, name, data = '', isDataOnly } = event;
  if (isDataOnly) return raw;
  return name === undefined ? Buffer.from(`${dataLines(data)}\n`) : framedEvent(event, type);
}
