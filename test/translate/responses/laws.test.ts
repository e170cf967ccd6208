// suite: slow
/** Properties of every reply to a Responses caller, whole or streamed, for any events. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isCutJson } from '../../../src/canonical/cut-json.ts';
import { openEnvelope } from '../../../src/canonical/envelope.ts';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { ReplyContext } from '../../../src/dialects/openai/responses/server/exchange.ts';
import { writeStream } from '../../../src/dialects/openai/responses/server/write-stream.ts';
import { GatewayError } from '../../../src/errors.ts';
import { isJsonObject, items, type JsonValue, member } from '../../../src/json.ts';
import { brokenLaws, responsesEvents } from '../../support/laws/responses-laws.ts';
import { shapeFaults } from '../../support/laws/responses-shape.ts';
import { responsesFixtures } from '../../support/recorded/responses-fixtures.ts';
import { runsOf } from '../../support/sample.ts';
import { inCallOrder, inRows, oneChoiceEvents } from './events.ts';
import { countedHead, outputOf, plainContext, streamOf, wholeOf } from './writer.ts';

const contexts: fc.Arbitrary<ReplyContext> = fc
  .record({ wantsSummary: fc.boolean(), wantsLogprobs: fc.boolean() })
  .map((wants) => ({ ...plainContext, ...wants }));
const heads = fc.record({ needsReasoningBack: fc.boolean() });
const rowSizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 });
const failure = new GatewayError('upstream_failed', 'The upstream broke off.');

describe('for any events', () => {
  it('a stream keeps the laws, and its terminal event has the whole reply', () => {
    fc.assert(
      fc.property(oneChoiceEvents, rowSizes, contexts, heads, (events, sizes, context, head) => {
        const stream = streamOf(inRows(events, sizes), context, head);

        expect(brokenLaws(stream.events)).toEqual([]);
        expect(stream.response).toEqual(wholeOf(events, context, head));
        expect(shapeFaults(stream.response)).toEqual([]);
      }),
      { numRuns: runsOf(1_000) },
    );
  });

  it('each event is one line after its name', () => {
    fc.assert(
      fc.property(oneChoiceEvents, contexts, (events, context) => {
        const { text } = streamOf([events], context);

        for (const event of text.split('\n\n').slice(0, -1)) {
          expect(event).toMatch(/^event: [a-z_.]+\ndata: \{[^\r\n\u2028\u2029]*\}$/);
        }
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('the output has all that the events have, in their order', () => {
    fc.assert(
      fc.property(oneChoiceEvents, contexts, heads, (events, context, head) => {
        const output = outputOf(wholeOf(events, context, head));

        expect(textsIn(output)).toBe(joined(events, 'text'));
        expect(refusalsIn(output)).toContain(joined(events, 'refusal'));
        expect(callsIn(output)).toEqual(wholeCalls(events));
        expect(signaturesIn(output)).toEqual(signaturesOf(events));
        expect(imagesIn(output)).toEqual(imagesOf(events));
      }),
      { numRuns: runsOf(1_000) },
    );
  });

  it('a stream that breaks off anywhere keeps the laws, and nothing follows', () => {
    fc.assert(
      fc.property(oneChoiceEvents, contexts, fc.nat(40), (events, context, at) => {
        const writer = writeStream(countedHead(), context);
        const before = events.slice(0, at).map((event) => writer.write([event]));
        const pieces = writer.breakOff(failure);

        expect(pieces).toHaveLength(2);
        const stream = responsesEvents([...before, ...pieces].join(''));
        expect(brokenLaws(stream)).toEqual([]);
        expect(shapeFaults(member(stream.at(-1)?.data, 'response') ?? null)).toEqual([]);
        expect(writer.breakOff(failure)).toEqual([]);
      }),
      { numRuns: runsOf(500) },
    );
  });

  it('a text that was shown is in the reply that breaks off', () => {
    fc.assert(
      fc.property(oneChoiceEvents, fc.nat(40), (events, at) => {
        const writer = writeStream(countedHead(), plainContext);
        const shown = events.slice(0, at).map((event) => writer.write([event]));
        const before = responsesEvents(shown.join(''));
        const [, last = ''] = writer.breakOff(failure);

        const response = member(responsesEvents(last)[0]?.data, 'response') ?? null;
        expect(textsIn(outputOf(response))).toBe(
          before
            .filter(({ name }) => name === 'response.output_text.delta')
            .map(({ data }) => String(member(data, 'delta')))
            .join(''),
        );
      }),
      { numRuns: runsOf(300) },
    );
  });

  it('the items that may be kept are those of the output', () => {
    fc.assert(
      fc.property(oneChoiceEvents, contexts, fc.boolean(), (events, context, keepsOutput) => {
        const writer = writeStream({ ...countedHead(), keepsOutput }, context);
        const text = [writer.write(events), writer.end()].join('');
        const kept = writer.output?.();
        expect(kept !== undefined).toBe(keepsOutput && context.stores);
        if (kept === undefined) return;

        const response = member(responsesEvents(text).at(-1)?.data, 'response') ?? null;
        expect(kept?.replyId).toBe(member(response, 'id'));
        expect(kept?.items.map(({ json }): JsonValue => JSON.parse(json))).toEqual(
          outputOf(response),
        );
        expect(kept?.items.map(({ id }) => id)).toEqual(
          outputOf(response).map((item) => member(item, 'id')),
        );
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('ids differ, whatever the host generates', () => {
    const generators = fc.array(fc.oneof(fc.string(), fc.constant('same')), { minLength: 1 });
    fc.assert(
      fc.property(oneChoiceEvents, generators, (events, generated) => {
        let next = 0;
        const newId = (): string => {
          next += 1;
          return generated[next % generated.length] ?? '';
        };
        const { events: written, response } = streamOf([events], plainContext, { newId });

        expect(brokenLaws(written)).toEqual([]);
        expect(member(response, 'id')).toMatch(/^resp_tg_[A-Za-z0-9_-]{1,40}$/);
      }),
      { numRuns: runsOf(200) },
    );
  });
});

/** How recordings differ from the laws; `INDEX.md` of the fixtures has the reasons of most. */
const exceptions: Readonly<Record<string, RegExp>> = {
  // The continuation of another stream.
  'openai/background-stream.2': /^(?:numbers|L1)/,
  // OpenAI encrypts the reasoning again for the terminal event.
  'openai/phase-stream.1': /^L8/,
  // Recorded before the events had numbers, and all texts an end.
  'openai/stream-tools.1': /^numbers/,
  'openai/stream-tools.2': /^numbers/,
  'openai-replies/custom-tool-stream': /^(?:numbers|L3)/,
  // Trimmed at the source.
  'openai-replies/encrypted-content-stream': /^(?:numbers|L[1-9])/,
};

describe('the laws', () => {
  const streams = responsesFixtures('openai', 'openai-replies').filter(({ streamed }) => streamed);

  it.each(streams.map((one) => [one.name, one] as const))('are kept by %s', (name, recorded) => {
    const broken = brokenLaws(responsesEvents(recorded.response ?? ''));

    const unexpected = broken.filter((law) => exceptions[name]?.test(law) !== true);
    expect(unexpected).toEqual([]);
    expect(broken.length > 0).toBe(name in exceptions);
  });

  const failing = responsesFixtures('synthetic').filter(({ name }) =>
    /error-flat|truncated|failed-alone|incomplete-in-arguments/.test(name),
  );

  it.each(failing.map((one) => [one.name, one] as const))('are broken by %s', (_, made) => {
    expect(brokenLaws(responsesEvents(made.response ?? ''))).not.toEqual([]);
  });

  it.each([
    ['an event is missing', (events: readonly string[], at: number) => events.toSpliced(at, 1)],
    [
      'an event comes twice',
      (events: readonly string[], at: number) => events.toSpliced(at, 0, events[at] ?? ''),
    ],
    [
      'two events change places',
      (events: readonly string[], at: number) =>
        events.toSpliced(at, 2, events[at + 1] ?? '', events[at] ?? ''),
    ],
  ])('are broken wherever %s', (name, change) => {
    const { text } = streamOf([brief], { ...plainContext, wantsSummary: true });
    const events = text.split('\n\n').slice(0, -1);

    for (let at = 0; at < events.length - 1; at += 1) {
      // Items may overlap, although these never do.
      if (/^event: \S+item\.done/.test(events[at] ?? '') && name === 'two events change places')
        continue;
      const changed = change(events, at).map((event, number) =>
        event.replace(/"sequence_number":\d+/, `"sequence_number":${number}`),
      );
      expect(brokenLaws(responsesEvents(`${changed.join('\n\n')}\n\n`)), String(at)).not.toEqual(
        [],
      );
    }
  });
});

/** A reply with an item of each kind, none of which has two equal events. */
const brief: readonly ContentEvent[] = [
  { type: 'reasoning', choice: 0, text: 'Let me ' },
  { type: 'reasoning', choice: 0, text: 'see.' },
  { type: 'text', choice: 0, text: 'Well' },
  { type: 'text', choice: 0, text: ', then.' },
  { type: 'tool_begin', choice: 0, call: 0, id: 'a', name: 'weather', arguments: '{"city":' },
  { type: 'tool_arguments', choice: 0, call: 0, text: '"Oslo"}' },
  { type: 'tool_end', choice: 0, call: 0 },
  { type: 'tool_begin', choice: 0, call: 1, id: 'b', name: 'patch', arguments: '{"input":"x"}' },
  { type: 'tool_end', choice: 0, call: 1 },
  { type: 'refusal', choice: 0, text: 'No' },
  { type: 'refusal', choice: 0, text: ', sorry.' },
  { type: 'finish', choice: 0, reason: 'stop' },
];

function joined(events: readonly ContentEvent[], type: 'text' | 'refusal'): string {
  return events.map((event) => (event.type === type ? event.text : '')).join('');
}

function partsIn(output: readonly JsonValue[], type: string): readonly JsonValue[] {
  return output
    .flatMap((item) => items(member(item, 'content')))
    .filter((part) => member(part, 'type') === type);
}

function textsIn(output: readonly JsonValue[]): string {
  return partsIn(output, 'output_text')
    .map((part) => String(member(part, 'text')))
    .join('');
}

function refusalsIn(output: readonly JsonValue[]): string {
  return partsIn(output, 'refusal')
    .map((part) => String(member(part, 'refusal')))
    .join('');
}

/** The name and the content of each call of the output. */
function callsIn(output: readonly JsonValue[]): readonly string[] {
  return output.flatMap((item) => {
    const name = [member(item, 'namespace'), member(item, 'name')].filter(Boolean).join('__');
    if (member(item, 'type') === 'function_call') {
      return [`${name}(${String(member(item, 'arguments'))})`];
    }
    const isCustom = member(item, 'type') === 'custom_tool_call';
    return isCustom ? [`${name}[${String(member(item, 'input'))}]`] : [];
  });
}

/** The calls of the events, except one at the very end that a limit or a filter may have cut. */
function wholeCalls(events: readonly ContentEvent[]): readonly string[] {
  const begins = events.filter((event) => event.type === 'tool_begin');
  const drawn = begins.map(({ call, name, arguments: first }) => {
    const more = events.map((event) =>
      event.type === 'tool_arguments' && event.call === call ? event.text : '',
    );
    return { name, text: [first, ...more].join('') };
  });
  const lastBegin = events.findLastIndex((event) => event.type === 'tool_begin');
  const isLast = !events.slice(lastBegin + 1).some(isShown);
  const finish = events.find((event) => event.type === 'finish');
  const mayBeCut = isLast && (finish?.reason === 'length' || finish?.reason === 'content_filter');
  return drawn.flatMap(({ name, text }, index) => {
    const value = parsedOrNot(text);
    if (isCutJson(text)) return [];
    if (mayBeCut && index === drawn.length - 1 && !isJsonObject(value)) return [];
    if (name !== 'patch' && name !== 'functions__exec') return [`${name}(${text || '{}'})`];
    const input = member(value, 'input');
    return [`${name}[${typeof input === 'string' ? input : text}]`];
  });
}

function parsedOrNot(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether the event adds an item or a text to one. */
function isShown(event: ContentEvent): boolean {
  if (event.type === 'text' || event.type === 'reasoning') {
    return event.text !== '' || event.providerData !== undefined;
  }
  return event.type === 'refusal'
    ? event.text !== ''
    : event.type === 'media' && event.mimeType === 'image/png';
}

function signaturesIn(output: readonly JsonValue[]): readonly string[] {
  return output.flatMap((item) => {
    const sealed = member(item, 'encrypted_content');
    const envelope = typeof sealed === 'string' ? openEnvelope(sealed) : undefined;
    return envelope === undefined || envelope.provider === 'any' ? [] : [envelope.data];
  });
}

function signaturesOf(events: readonly ContentEvent[]): readonly string[] {
  return inCallOrder(events).flatMap((event) =>
    'providerData' in event && event.providerData !== undefined ? [event.providerData.data] : [],
  );
}

function imagesIn(output: readonly JsonValue[]): readonly unknown[] {
  return output.flatMap((item) => member(item, 'result') ?? []);
}

function imagesOf(events: readonly ContentEvent[]): readonly string[] {
  return inCallOrder(events).flatMap((event) =>
    event.type === 'media' && event.mimeType === 'image/png' ? [event.data] : [],
  );
}
