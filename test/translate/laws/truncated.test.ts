// suite: search
/** A stream without its end never looks complete. */
import { describe, expect, it } from 'vitest';
import { brokenStream } from '../../relay/streams.ts';
import {
  brokenLaws as brokenMessagesLaws,
  messagesEvents,
} from '../../support/laws/messages-laws.ts';
import { brokenLaws, responsesEvents } from '../../support/laws/responses-laws.ts';
import { drawn } from '../../support/seeds.ts';
import { answered, type Protocol } from './caller-side.ts';
import {
  asking,
  eventStream,
  exchanged,
  isLast,
  type Layout,
  type Outcome,
  rows,
  streamOf,
  streams,
  wholes,
} from './exchange.ts';
import { dataOf, eventsOf, framed, isUselessMessage, oracles } from './oracle.ts';
import { type Json, parsed, record } from './tree.ts';

/** The error for an interrupted upstream reply in each protocol. */
const errors = {
  chat: {
    message: 'The upstream failed to answer this request. Retry later.',
    type: 'server_error',
    param: null,
    code: 'upstream_failed',
  },
  native: {
    code: 502,
    message: 'The upstream failed to answer this request. Retry later.',
    status: 'UNAVAILABLE',
  },
  responses: {
    message: 'The upstream failed to answer this request. Retry later.',
    type: 'server_error',
    param: null,
    code: 'upstream_failed',
  },
  messages: {
    type: 'api_error',
    message: 'The upstream failed to answer this request. Retry later.',
  },
} as const;

describe('a recorded stream without its end', () => {
  it.each(rows(streams))('to %s: %s', async (protocol, _name, { dialect, text }) => {
    const events = eventsOf(text);
    const end = events.findIndex((event) => isLast(parsed(dataOf(event))));
    const boundaries = Array.from({ length: end === -1 ? events.length : end + 1 }, (_, at) => at);

    for (const at of boundaries) {
      for (const ending of endingsAt(at)) {
        const kept = events.slice(0, at);
        const chunks = [...kept.slice(0, 1), kept.slice(1).join('')].filter(Boolean);
        const scripted = { ...eventStream(...chunks), ending };
        const outcome = await exchanged(dialect, asking(protocol, 'sse'), scripted);
        expectBroken(protocol, 'sse', outcome);
      }
    }
  });
});

/**
 * Within the first 20 boundaries the stream ends or is reset alternately, and later it only ends.
 * `TEST_FORM=full` tests both within the first 20.
 */
function endingsAt(at: number): readonly ('end' | 'reset')[] {
  if (at >= 20) return ['end'];
  if (process.env.TEST_FORM === 'full') return ['end', 'reset'];
  return at % 2 === 0 ? ['end'] : ['reset'];
}

describe('a recorded whole reply, streamed without its end', () => {
  it.each(rows(wholes))('to %s: %s', async (protocol, _name, { dialect, text }) => {
    const documents = oracles[dialect].stream(record(JSON.parse(text)), drawn(3));
    const end = documents.findIndex(isLast);
    const draw = drawn(documents.length);
    // Some of the boundaries are enough, because these streams are long and uniform.
    const boundaries = [0, 1, end, ...Array.from({ length: 3 }, () => draw(end + 1))];

    for (const at of boundaries.filter((one) => one <= end)) {
      const scripted = eventStream(
        framed(dialect, documents.slice(0, at)).filter(notDone).join(''),
      );
      const outcome = await exchanged(dialect, asking(protocol, 'sse'), scripted);
      expectBroken(protocol, 'sse', outcome);
    }
  });
});

describe('an array without its end', () => {
  it.each(
    rows(streams).filter(([protocol]) => protocol === 'native'),
  )('is closed after an error, to %s: %s', async (protocol, _name, { dialect, text }) => {
    const events = eventsOf(text);
    const end = events.findIndex((event) => isLast(parsed(dataOf(event))));

    for (const at of [1, end >> 1, end].filter((one) => one <= end)) {
      const scripted = eventStream(...events.slice(0, at));
      const outcome = await exchanged(dialect, asking(protocol, 'json_array'), scripted);

      expectBroken(protocol, 'json_array', outcome);
    }
  });
});

describe('a complete stream', () => {
  it.each(rows(wholes))('is valid without its terminator, to %s: %s', async (...row) => {
    const [protocol, , { dialect, text }] = row;
    const whole = record(JSON.parse(text));
    const documents = oracles[dialect].stream(whole, drawn(3)).filter(isNoTerminator);
    const reply = oracles[dialect].reply(whole);
    const isUseless = protocol === 'messages' ? isUselessMessage(reply) : reply.useless === true;
    if (isUseless || !documents.some(isLast)) return;

    const scripted = streamOf(dialect, documents);
    const { answer, gateway } = await exchanged(dialect, asking(protocol, 'sse'), scripted);

    expect(answer.text).not.toContain('"error":{');
    expect(gateway.records[0]?.outcome).toBe('complete');
  });
});

function isNoTerminator({ type }: Json): boolean {
  return type !== 'message_stop';
}

function notDone(event: string): boolean {
  return event !== 'data: [DONE]\n\n';
}

/** An error status if nothing had been received, else the exact form that the protocol requires. */
function expectBroken(
  protocol: Protocol,
  layout: Layout,
  { answer: reply, gateway }: Outcome,
): void {
  expect(reply.isCut).toBe(false);
  expect(gateway.records[0]?.outcome).not.toBe('complete');
  expect(reply.text).not.toContain('[DONE]');
  if (reply.status !== 200) {
    expect(reply.status).toBe(502);
    const { error } = record(JSON.parse(reply.text));
    expect(error).toEqual(errors[protocol]);
    return;
  }
  if (protocol === 'messages') {
    expect(brokenMessagesLaws(messagesEvents(reply.text), { isOwn: true })).toEqual([]);
    expect(answered(reply.text, true).at(-1)).toMatchObject({
      type: 'error',
      error: errors.messages,
    });
    return;
  }
  if (protocol === 'responses') {
    expect(brokenLaws(responsesEvents(reply.text))).toEqual([]);
    expect(answered(reply.text, true).at(-1)).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'server_error', message: errors.responses.message } },
    });
    return;
  }
  if (layout === 'json_array') {
    expect(answered(reply.text, true).at(-1)).toEqual({ error: errors[protocol] });
    return;
  }
  const broken = brokenStream(protocol, reply);
  expect(broken?.error).toEqual(errors[protocol]);
  expect(broken?.before).not.toContain('finishReason');
  expect(broken?.before).not.toMatch(/"finish_reason":"/);
}
