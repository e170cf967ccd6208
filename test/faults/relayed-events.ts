/**
 * What a caller gets of a relayed stream whose events have names, worked out without the gateway's
 * code.
 */
import { eventsOf } from '../relay/oracle.ts';

/** How an API names its events. */
interface EventNames {
  /** Finds the type of an event in its data. */
  readonly type: RegExp;
  /** An event without a name gets its type as one; otherwise it stays without. */
  readonly areRequired: boolean;
}

/**
 * Each event that is its name and one line of data unchanged, the data of any other under the name
 * of its type.
 */
export function relayedEvents(text: string, names: EventNames): string {
  const list = eventsOf(text);
  const isCut = text.endsWith('\r\r');
  return list
    .map((event, at) => relayedEvent(event, names, isCut && at === list.length - 1))
    .join('');
}

/** `isUnfinished`: a line feed might follow, so that this would be no blank line yet. */
function relayedEvent(
  event: string,
  { type: pattern, areRequired }: EventNames,
  isUnfinished: boolean,
): string {
  const lines = event.replace('\uFEFF', '').split(/\r\n|\n|\r/);
  const fields = lines.filter((line) => line !== '');
  const data = fields.filter((line) => line.startsWith('data:'));
  const names = fields.filter((line) => line.startsWith('event:'));
  const text = data.map((line) => line.replace(/^data: ?/, '')).join('\n');
  const type = pattern.exec(text)?.[1] ?? '';
  const isNamed = data.length === 1 && names[0]?.replace(/^event: ?/, '') === type;
  const isPlain =
    fields.length === data.length + names.length &&
    (isNamed || (names.length === 0 && !areRequired)) &&
    /\n\n$|\r\n\r\n$|\r\r$/.test(event) &&
    !isUnfinished;
  if (isPlain && !event.startsWith('\uFEFF')) return event;
  const name = names.length === 0 && !areRequired ? '' : `event: ${type}\n`;
  return `${name}${text.replace(/^/gm, 'data: ')}\n\n`;
}
