// suite: slow
/** Properties of every reply to a Messages caller, whole or streamed, for any events. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { portableCallId } from '../../../src/canonical/call-ids.ts';
import { openEnvelope } from '../../../src/canonical/envelope.ts';
import { type ContentEvent, mayCutCall } from '../../../src/canonical/reply.ts';
import type { ReplyContext } from '../../../src/dialects/anthropic/server/exchange.ts';
import { writeStream } from '../../../src/dialects/anthropic/server/write-stream.ts';
import { GatewayError } from '../../../src/errors.ts';
import { type JsonValue, member } from '../../../src/json.ts';
import { brokenLaws, messagesEvents } from '../../support/laws/messages-laws.ts';
import { fixtures } from '../../support/recorded/fixtures.ts';
import { runsOf } from '../../support/sample.ts';
import { inCallOrder, inRows, oneChoiceEvents } from '../responses/events.ts';
import { blocksOf, displays, messageHead, replyOf, showing, streamOf, wholeOf } from './writer.ts';

const contexts: fc.Arbitrary<ReplyContext> = fc
  .constantFrom(...displays)
  .map((thinking) => showing(thinking));
const heads = fc.record({ needsReasoningBack: fc.boolean() });
const rowSizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 });
const failure = new GatewayError('upstream_failed', 'The upstream broke off.');
const isOwn = { isOwn: true };

describe('for any events', () => {
  it('a stream keeps the laws, and clients assemble the whole reply from it', () => {
    fc.assert(
      fc.property(oneChoiceEvents, rowSizes, contexts, heads, (events, sizes, context, head) => {
        const stream = streamOf(inRows(events, sizes), context, head);

        expect(brokenLaws(stream.events, isOwn)).toEqual([]);
        expect(stream.message).toEqual(wholeOf(events, context, head));
      }),
      { numRuns: runsOf(1_000) },
    );
  });

  it('each event is one line after its name', () => {
    fc.assert(
      fc.property(oneChoiceEvents, contexts, (events, context) => {
        const { text } = streamOf([events], context);

        for (const event of text.split('\n\n').slice(0, -1)) {
          expect(event).toMatch(/^event: [a-z_]+\ndata: \{[^\r\n\u2028\u2029]*\}$/);
        }
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('the content has all that the events have, in their order', () => {
    fc.assert(
      fc.property(oneChoiceEvents, contexts, heads, (events, context, head) => {
        const { text, dropped } = replyOf(events, context, head);
        const blocks = blocksOf(JSON.parse(text));

        expect(wordsIn(blocks)).toBe(wordsOf(events));
        expect(inputsIn(blocks)).toEqual(inputsOf(events));
        // Thinking that is held back for a call may be written after a text that it preceded.
        const isHeld = context.thinking === 'off';
        const inOrder = (data: readonly string[]) => (isHeld ? [...data].sort() : data);
        const expected = isHeld ? neededSignatures(events) : signaturesOf(events);
        expect(inOrder(signaturesIn(blocks))).toEqual(inOrder(expected));
        expect(thinkingIn(blocks)).toBe(context.thinking === 'shown' ? thoughtsOf(events) : '');
        expect(dropped.filter((name) => name.startsWith('content.')).sort()).toEqual(
          mediaOf(events),
        );
      }),
      { numRuns: runsOf(1_000) },
    );
  });

  it('a reply without a call begins with text if no thinking was requested', () => {
    fc.assert(
      fc.property(oneChoiceEvents, heads, (events, head) => {
        const blocks = blocksOf(wholeOf(events, showing('off'), head));
        const types = blocks.map((block) => member(block, 'type'));

        if (types.includes('tool_use')) return;
        expect(types.filter((type) => type !== 'text')).toEqual([]);
      }),
      { numRuns: runsOf(300) },
    );
  });

  it('a stream that breaks off anywhere ends with the error, and nothing follows', () => {
    fc.assert(
      fc.property(oneChoiceEvents, contexts, fc.nat(40), (events, context, at) => {
        const writer = writeStream(messageHead(), context);
        const before = events.slice(0, at).map((event) => writer.write([event]));
        const [error = '', ...more] = writer.breakOff(failure);

        expect(more).toEqual([]);
        expect(error).toBe(
          'event: error\ndata: {"type":"error","error":{"type":"api_error",' +
            '"message":"The upstream broke off."},"request_id":"fallback"}\n\n',
        );
        expect(brokenLaws(messagesEvents([...before, error].join('')), isOwn)).toEqual([]);
        expect(writer.breakOff(failure)).toEqual([]);
      }),
      { numRuns: runsOf(500) },
    );
  });

  it('only output that no message can express is unusable', () => {
    fc.assert(
      fc.property(oneChoiceEvents, contexts, (events, context) => {
        const reply = replyOf(events, context);
        const writer = writeStream(messageHead(), context);
        for (const event of events) writer.write([event]);

        const isAnswer = blocksOf(JSON.parse(reply.text)).some(
          (block) => !String(member(block, 'type')).includes('thinking'),
        );
        expect(reply.isUnusable).toBe(mediaOf(events).length > 0 && !isAnswer);
        expect(writer.isUnusable?.()).toBe(reply.isUnusable);
      }),
      { numRuns: runsOf(500) },
    );
  });
});

/** `INDEX.md` of the fixtures has the reasons. */
const exceptions: ReadonlySet<string> = new Set([
  // A second `message_start`.
  'anthropic/v-stream-dup-message-start',
  // Several replies in one file.
  'messages/v-stream-tool-search-deferred',
]);

describe('the laws', () => {
  const streams = fixtures('anthropic', 'messages').filter(
    ({ streamed, status }) => streamed && status === 200,
  );

  it('are checked on all recorded streams', () => {
    expect(streams.length).toBeGreaterThanOrEqual(32);
  });

  it.each(streams.map((one) => [one.name, one] as const))('are kept by %s', (name, recorded) => {
    const broken = brokenLaws(messagesEvents(recorded.response), { isOwn: false });

    expect(broken.length > 0).toBe(exceptions.has(name));
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
  ])('are broken wherever %s', (_, change) => {
    const { text } = streamOf([brief]);
    const events = text.split('\n\n').slice(0, -1);

    for (let at = 0; at < events.length - 1; at += 1) {
      // Deltas differ only in what they add.
      if (/"(?:text|thinking|input_json)_delta"/.test(events[at] ?? '')) continue;
      const changed = change(events, at);
      expect(brokenLaws(messagesEvents(`${changed.join('\n\n')}\n\n`), isOwn), `${at}`).not.toEqual(
        [],
      );
    }
  });
});

const gemini = (data: string) => ({ provider: 'gemini', kind: 'signature', data }) as const;

/** A reply with a block of each kind. */
const brief: readonly ContentEvent[] = [
  { type: 'reasoning', choice: 0, text: 'Let me see.', providerData: gemini('a') },
  {
    type: 'reasoning',
    choice: 0,
    text: '',
    providerData: { provider: 'openai', kind: 'encrypted', data: 'b' },
  },
  { type: 'text', choice: 0, text: 'Well' },
  { type: 'tool_begin', choice: 0, call: 0, id: 'a', name: 'weather', arguments: '{"a":1}' },
  { type: 'tool_end', choice: 0, call: 0 },
  { type: 'finish', choice: 0, reason: 'tool_calls' },
];

function wordsIn(blocks: readonly JsonValue[]): string {
  return blocks.map((block) => String(member(block, 'text') ?? '')).join('');
}

function wordsOf(events: readonly ContentEvent[]): string {
  return events
    .map((event) => (event.type === 'text' || event.type === 'refusal' ? event.text : ''))
    .join('');
}

function thinkingIn(blocks: readonly JsonValue[]): string {
  return blocks.map((block) => String(member(block, 'thinking') ?? '')).join('');
}

function thoughtsOf(events: readonly ContentEvent[]): string {
  return events.map((event) => (event.type === 'reasoning' ? event.text : '')).join('');
}

function inputsIn(blocks: readonly JsonValue[]): readonly unknown[] {
  return blocks
    .filter((block) => member(block, 'type') === 'tool_use')
    .map((block) => [member(block, 'id'), member(block, 'name'), member(block, 'input')]);
}

function inputsOf(events: readonly ContentEvent[]): readonly unknown[] {
  return callsOf(events).map(({ begin, text }) => [
    portableCallId(begin.id),
    begin.name,
    inputOf(text),
  ]);
}

function inputOf(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? value : { _raw: text };
  } catch {
    return { _raw: text };
  }
}

/** The calls, except one without arguments that a limit or a filter may have cut off. */
function callsOf(events: readonly ContentEvent[]) {
  const begins = events.filter((event) => event.type === 'tool_begin');
  const finish = events.find((event) => event.type === 'finish');
  return begins
    .map((begin) => {
      const more = events.map((event) =>
        event.type === 'tool_arguments' && event.call === begin.call ? event.text : '',
      );
      return { begin, text: [begin.arguments, ...more].join('') };
    })
    .filter(({ begin, text }) => {
      const after = events.slice(events.indexOf(begin) + 1);
      return text.trim() !== '' || !mayCutCall(finish?.reason) || after.some(isOutput);
    });
}

/** Whether the event is output after a call, so that the call was not cut off. */
function isOutput(event: ContentEvent): boolean {
  switch (event.type) {
    case 'text':
    case 'reasoning':
      return event.text !== '' || event.providerData !== undefined;
    case 'refusal':
      return event.text !== '';
    default:
      return ['tool_begin', 'media', 'media_url'].includes(event.type);
  }
}

function signaturesIn(blocks: readonly JsonValue[]): readonly string[] {
  return blocks.flatMap((block) => {
    const sealed = member(block, 'signature') ?? member(block, 'data');
    const envelope = typeof sealed === 'string' ? openEnvelope(sealed) : undefined;
    return envelope === undefined || envelope.provider === 'any' ? [] : [envelope.data];
  });
}

/** The signatures in their order, without that of a call that was left out. */
function signaturesOf(events: readonly ContentEvent[]): readonly string[] {
  return signedEvents(events).map(({ data }) => data);
}

function signedEvents(events: readonly ContentEvent[]) {
  const calls = callsOf(events).map(({ begin }) => begin);
  return inCallOrder(events).flatMap((event, at) => {
    if (event.type === 'tool_begin' && !calls.includes(event)) return [];
    const data = 'providerData' in event ? event.providerData?.data : undefined;
    return data === undefined ? [] : [{ event, at, data }];
  });
}

/** What providers need back after a call. Of the texts before it, only the last one's. */
function neededSignatures(events: readonly ContentEvent[]): readonly string[] {
  const [first] = callsOf(events);
  if (first === undefined) return [];
  const ordered = inCallOrder(events);
  const firstAt = ordered.indexOf(first.begin);
  const lastWordAt = ordered.slice(0, firstAt).findLastIndex(isWord);
  const signed = signedEvents(events);
  const lastText = signed.findLast(({ event, at }) => event.type === 'text' && at < firstAt);
  return signed
    .filter((one) => {
      if (one.event.type !== 'text' || one.at > firstAt) return true;
      return one === lastText && one.at >= lastWordAt;
    })
    .map(({ data }) => data);
}

function isWord(event: ContentEvent): boolean {
  return (event.type === 'text' || event.type === 'refusal') && event.text !== '';
}

function mediaOf(events: readonly ContentEvent[]): readonly string[] {
  const kinds = events.flatMap((event) => {
    if (event.type === 'media_url') return ['content.image'];
    if (event.type !== 'media') return [];
    return [event.mimeType === 'audio/wav' ? 'content.audio' : 'content.image'];
  });
  return [...new Set(kinds)].sort();
}
