// suite: slow
/**
 * Properties of all recorded replies: they read the same however they are cut, and no mangled one
 * makes the reader throw.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member } from '../../../src/json.ts';
import { documentsOf, parsed } from '../../support/codec.ts';
import {
  callsOf,
  chunk,
  eventsOfStream,
  exchange,
  finishesOf,
  reasoningOf,
  recordings,
  textOf,
} from './client.ts';

const seeded = { numRuns: 150 } as const;

describe('the recorded replies', () => {
  const wholes = recordings
    .filter(({ streamed }) => !streamed)
    .map(({ name, response }) => [name, parsed(Buffer.from(response).toString())] as const);

  it.each(wholes)('%s reads the same in pieces and whole', (_name, reply) => {
    const expected = gathered(exchange().readReply(reply));

    fc.assert(
      fc.property(fc.infiniteStream(fc.integer({ min: 1, max: 60 })), (sizes) => {
        const pieces = inPieces(reply, sizes);

        expect(gathered(eventsOfStream(pieces))).toEqual(expected);
      }),
      { ...seeded, numRuns: 15 },
    );
  });

  it('no reply and no stream, however mangled, makes the reader throw', () => {
    const documents = recordings.flatMap(({ response, streamed }) => {
      const body = Buffer.from(response).toString();
      return streamed ? documentsOf(body).slice(0, 30) : [parsed(body)];
    });
    const junk = fc.constantFrom<JsonValue>(
      null,
      true,
      -1,
      1e300,
      '',
      'x',
      [],
      [null],
      {},
      { a: 1 },
    );

    fc.assert(
      fc.property(
        fc.constantFrom(...documents),
        fc.array(fc.tuple(fc.nat(400), junk, fc.boolean()), { minLength: 1, maxLength: 5 }),
        (document, edits) => {
          const mangled = edits.reduce(
            (value, [at, put, isRemoved]) =>
              edited(value, { remaining: at }, isRemoved ? undefined : put) ?? null,
            document,
          );

          const whole = exchange().readReply(mangled);
          const stream = eventsOfStream([document, mangled, mangled]);

          expect(endsOnce(whole)).toBe(true);
          expect(endsOnce(stream)).toBe(true);
        },
      ),
      { ...seeded, numRuns: 1500 },
    );
  });
});

/** Expects one finish for each choice with content, or an event that the reply is unusable. */
function endsOnce(events: readonly ContentEvent[]): boolean {
  if (events.some(({ type }) => type === 'unusable')) return finishesOf(events).length === 0;
  const choices = new Set(events.flatMap((event) => ('choice' in event ? [event.choice] : [])));
  const finished = finishesOf(events).map(({ choice }) => choice);
  return finished.length === choices.size && new Set(finished).size === finished.length;
}

/** Replaces or removes the n-th member or element of a value. */
function edited(
  value: JsonValue,
  position: { remaining: number },
  put: JsonValue | undefined,
): JsonValue | undefined {
  position.remaining -= 1;
  if (position.remaining < 0) return put;
  if (Array.isArray(value)) {
    return value.flatMap((element) => {
      const next = position.remaining < 0 ? element : edited(element, position, put);
      return next === undefined ? [] : [next];
    });
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, element]) => {
      const next = position.remaining < 0 ? element : edited(element, position, put);
      return next === undefined ? [] : [[name, next]];
    }),
  );
}

/** Collects the contents of a reply, however it was cut. Generated ids are not compared. */
function gathered(events: readonly ContentEvent[]) {
  const allProviderData = events.flatMap((event) =>
    event.type === 'text' || event.type === 'reasoning' ? [event.providerData] : [],
  );
  return {
    text: textOf(events),
    reasoning: reasoningOf(events),
    allProviderData: allProviderData.filter((providerData) => providerData !== undefined),
    refusal: events.map((event) => (event.type === 'refusal' ? event.text : '')).join(''),
    calls: callsOf(events),
    finishes: finishesOf(events),
    usage: events.filter(({ type }) => type === 'usage'),
  };
}

/**
 * Splits a whole reply as a server would stream it: text cut anywhere, calls started and then
 * filled.
 */
function inPieces(reply: JsonValue, sizes: Iterable<number>): readonly JsonValue[] {
  const next = sizes[Symbol.iterator]();
  const cut = (text: string): readonly string[] => {
    const pieces: string[] = [];
    for (let from = 0; from < text.length; ) {
      const size = Number(next.next().value);
      pieces.push(text.slice(from, from + size));
      from += size;
    }
    return pieces;
  };
  const deltas = items(member(reply, 'choices')).flatMap((choice, index) => {
    const { tool_calls: calls, ...message } = objectOf(member(choice, 'message'));
    const cutMembers = ['reasoning_content', 'reasoning', 'content', 'refusal'].flatMap((name) => {
      const text = message[name];
      return typeof text === 'string' ? cut(text).map((piece) => ({ [name]: piece })) : [];
    });
    const rest = Object.entries(message).filter(([, value]) => typeof value !== 'string');
    const opened = items(calls).flatMap((call, position) => callPieces(call, position, cut));
    return [...cutMembers, Object.fromEntries(rest), ...opened].map((delta) =>
      chunk(delta, null, index),
    );
  });
  const ends = items(member(reply, 'choices')).map((choice, index) =>
    chunk({}, member(choice, 'finish_reason') ?? null, index),
  );
  return [...deltas, ...ends, { choices: [], usage: member(reply, 'usage') ?? null }];
}

function callPieces(
  call: JsonValue,
  index: number,
  cut: (text: string) => readonly string[],
): readonly JsonValue[] {
  const { name = null, arguments: json = null } = objectOf(member(call, 'function'));
  const opening = { index, id: member(call, 'id') ?? null, function: { name, arguments: '' } };
  const fillings = cut(String(json)).map((piece) => ({ index, function: { arguments: piece } }));
  return [opening, ...fillings].map((piece) => ({ tool_calls: [piece] }));
}

function objectOf(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  return isJsonObject(value) ? value : {};
}
