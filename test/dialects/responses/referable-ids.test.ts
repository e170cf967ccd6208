// suite: quick
/**
 * Whatever id of an item the caller of a relayed stream has seen as final, a later call may name:
 * that of the item itself, and that of the same item in the last event.
 */
import { describe, expect, it } from 'vitest';
import { parseEvents } from '../../../src/bytes/sse.ts';
import { responsesStreamTap } from '../../../src/dialects/openai/responses/stream-tap.ts';
import { isJsonObject, items, type JsonObject, member, parseJson } from '../../../src/json.ts';
import { responsesFixtures } from '../../support/recorded/responses-fixtures.ts';

const streams = responsesFixtures()
  .filter(({ streamed, response }) => streamed && response !== undefined)
  .map(({ name, response }) => ({ name, events: eventsIn(response ?? new Uint8Array()) }))
  // One recording has several replies.
  .filter(({ events }) => events.filter(isNamed('response.created')).length === 1)
  .filter(({ events }) => events.some(isNamed('response.completed')));

function eventsIn(response: Uint8Array): readonly JsonObject[] {
  return [...parseEvents(response)]
    .map(({ data }) => parseJson(data ?? '') ?? null)
    .filter(isJsonObject);
}

function isNamed(type: string): (event: JsonObject) => boolean {
  return (event) => member(event, 'type') === type;
}

/** The ids of the items that are whole, and of those in the last event. */
function finalIds(events: readonly JsonObject[]): readonly unknown[] {
  const whole = events.filter(isNamed('response.output_item.done'));
  const last = events.find(isNamed('response.completed'));
  const all = [
    ...whole.map((event) => member(event, 'item') ?? null),
    ...items(member(member(last, 'response'), 'output')),
  ];
  return [...new Set(all.map((item) => member(item, 'id')))].filter((id) => id !== undefined);
}

/** The ids that the tap has found in the events, in chunks of this size. */
function foundIds(events: readonly JsonObject[], chunkBytes: number): readonly unknown[] {
  const bytes = Buffer.from(
    events
      .map((event) => `event: ${member(event, 'type')}\ndata: ${JSON.stringify(event)}\n\n`)
      .join(''),
  );
  const tap = responsesStreamTap();
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    tap.write(bytes.subarray(at, at + chunkBytes));
  }
  tap.end();
  return tap.referable?.()?.items.map(({ id }) => id) ?? [];
}

/** With so much text in the last event that it is not parsed as a whole. */
function withLargeEnd(events: readonly JsonObject[]): readonly JsonObject[] {
  const filler = [{ id: 'not_an_item', text: 'x'.repeat(40_000) }];
  return events.map((event) => {
    const response = member(event, 'response');
    if (!isNamed('response.completed')(event) || !isJsonObject(response)) return event;
    return { ...event, response: { ...response, tools: filler } };
  });
}

describe('every final id is found, and nothing else', () => {
  it.each(streams)('$name', ({ events }) => {
    const expected = [...finalIds(events)].sort();
    for (const chunkBytes of [1_000_000, 4_093, 61]) {
      expect([...foundIds(events, chunkBytes)].sort()).toEqual(expected);
      expect([...foundIds(withLargeEnd(events), chunkBytes)].sort()).toEqual(expected);
    }
  });
});

it('the ids of one recording differ between its items and its last event', () => {
  const rotating = streams.find(({ name }) => name.includes('rotating-ids'));
  const whole = rotating?.events.filter(isNamed('response.output_item.done')) ?? [];

  expect(finalIds(rotating?.events ?? []).length).toBeGreaterThan(whole.length);
});
