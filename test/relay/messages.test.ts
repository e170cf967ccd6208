// suite: slow
/** Relayed Messages calls: the recorded replies of Anthropic pass unchanged, padding included. */
import { describe, expect, it } from 'vitest';
import {
  type AnyModelGateway,
  anyModelGateway,
  type CallerRequest,
  messages,
  wholeMessage,
} from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { type Fixture, fixture, fixtures } from '../support/recorded/fixtures.ts';
import { someOf } from '../support/sample.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { documentOf, eventsOf } from './oracle.ts';
import { bytewise, json, pieces, sse } from './streams.ts';

const recordings = fixtures('anthropic', 'messages').filter(
  ({ response, status }) => response.length > 0 && status === 200,
);
const streams = recordings.filter(({ streamed }) => streamed);
const wholes = recordings.filter(({ streamed }) => !streamed);
const counts = wholes.filter((recorded) => !('content' in statedBy(recorded)));
const replies = wholes.filter((recorded) => 'content' in statedBy(recorded));
/** Cuts at every byte; by default only at some, and at those near the end. */
const isFull = process.env.TEST_FORM === 'full';

/** What a reply states about itself. */
interface Stated {
  readonly content?: unknown;
  readonly input_tokens?: number;
}

describe('a whole Messages reply', () => {
  it('is tested with more than 60 recordings', () => {
    expect(replies.length).toBeGreaterThan(60);
    expect(streams.length).toBeGreaterThan(30);
    expect(counts.length).toBeGreaterThanOrEqual(3);
  });

  it.each(replies.map(named))('%s is relayed byte for byte', async (_, recorded) => {
    const { reply, gateway } = await relayed(json(bytesOf(recorded)), messages(wholeMessage));

    expect(reply.status).toBe(200);
    expect(reply.text).toBe(bytesOf(recorded).toString());
    expect(gateway.records[0]).toMatchObject({ protocol: 'messages', outcome: 'complete' });
  });

  it.each(counts.map(named))('the count %s is relayed byte for byte', async (_, recorded) => {
    const request = { ...messages(wholeMessage), path: '/v1/messages/count_tokens' };
    const { reply, gateway } = await relayed(json(bytesOf(recorded)), request);

    expect(reply.status).toBe(200);
    expect(reply.text).toBe(bytesOf(recorded).toString());
    expect(gateway.records[0]).toMatchObject({ chargeNanos: 0n });
  });

  it('is not mistaken for a count, nor a count for it', async () => {
    const [count] = counts;
    const [message] = replies;
    const counting = { ...messages(wholeMessage), path: '/v1/messages/count_tokens' };
    for (const [recorded, request] of [
      [count, messages(wholeMessage)],
      [message, counting],
    ] as const) {
      const { reply } = await relayed(json(bytesOf(recorded)), request);

      expect(reply.status).toBe(502);
      expect(JSON.parse(reply.text)).toMatchObject({ type: 'error', error: { type: 'api_error' } });
    }
  });
});

describe('a streamed Messages reply', () => {
  it.each(streams.map(named))('%s passes unchanged but for errors', async (_, recorded) => {
    const text = bytesOf(recorded).toString();
    const expected = relayedStream(text);

    const { reply, gateway } = await relayed(sse(...firstApart(text)), messages());

    expect(reply.isCut).toBe(false);
    if (reply.status !== 200) return expect(expected.hasContent).toBe(false);
    expect(reply.text.startsWith(expected.text)).toBe(true);
    expect(typesIn(reply.text.slice(expected.text.length))).toEqual(
      expected.isWhole ? [] : ['error'],
    );
    expect(gateway.records[0]).toMatchObject({
      outcome: expected.isWhole ? 'complete' : 'broken',
    });
  });

  it.each(streams.map(named))('%s does not depend on its chunks', async (_, recorded) => {
    const bytes = bytesOf(recorded);
    const plain = await relayed(sse(...firstApart(bytes.toString())), messages());
    const cuts = [pieces(bytes, 1), pieces(bytes, 2), pieces(bytes, 3)];
    if (bytes.length < 8_000) cuts.push(bytewise(bytes));

    for (const chunks of someOf(cuts)) {
      const cut = await relayed(sse(...chunks), messages());

      expect(cut.reply.text).toBe(plain.reply.text);
      expect(figuresOf(cut.gateway)).toEqual(figuresOf(plain.gateway));
    }
  });

  it('keeps the spaces by which Anthropic pads events', () => {
    const padded = streams.filter((one) => / {3,}\}\n\n/.test(bytesOf(one).toString()));

    expect(padded.length).toBeGreaterThan(5);
  });
});

describe('a Messages stream cut at any byte', () => {
  const names = ['messages/stream-effort.1', 'messages/stream-thinking-b.1'];

  it.each(names)('%s is complete, or ends in an error that all clients raise', async (name) => {
    const bytes = bytesOf(fixture(name));
    const whole = relayedStream(bytes.toString());
    const ends = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1).filter(
      (end) => isFull || end % 41 === 0 || (end > bytes.length - 80 && end % 3 === 0),
    );

    for (const end of isFull ? ends : someOf(ends)) {
      const cut = bytes.subarray(0, end).toString();
      const before = relayedStream(
        eventsOf(cut)
          .filter((event) => event.endsWith('\n\n'))
          .join(''),
      );
      const { reply } = await relayed(sse(cut), messages());

      if (reply.status !== 200) expect(before.hasContent).toBe(false);
      // The last event counts if only its blank line is missing.
      else if (reply.text === whole.text) expect(cut).toContain('"message_stop"');
      else {
        expect(reply.text.startsWith(before.text)).toBe(true);
        expectError(reply.text.slice(before.text.length));
      }
    }
  });
});

/** One event of the form on which all known clients raise, and nothing after it. */
function expectError(text: string): void {
  expect(text).toMatch(/^event: error\ndata: \{"type":"error",[^\n]+\}\n\n$/);
  expect(documentOf(text)).toMatchObject({
    type: 'error',
    error: { type: expect.any(String), message: expect.any(String) },
    request_id: expect.any(String),
  });
}

function named(recorded: Fixture): [string, Fixture] {
  return [recorded.name, recorded];
}

function bytesOf(recorded: Fixture | undefined): Buffer {
  return Buffer.from(recorded?.response ?? []);
}

function statedBy(recorded: Fixture): Stated {
  return JSON.parse(bytesOf(recorded).toString());
}

/** The first event separately, because an error that comes with it becomes a status. */
function firstApart(text: string): readonly string[] {
  const [first = '', ...rest] = eventsOf(text);
  return [first, rest.join('')];
}

async function relayed(
  scripted: ScriptedReply,
  request: CallerRequest,
): Promise<{ readonly reply: CallerReply; readonly gateway: AnyModelGateway }> {
  const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted) });
  return { reply: await gateway.call(request), gateway };
}

/** What must reach the caller of a recorded stream before any error of the gateway. */
interface Expected {
  readonly text: string;
  readonly isWhole: boolean;
  readonly hasContent: boolean;
}

/** Some recordings continue with the next reply of the same run. */
function relayedStream(text: string): Expected {
  const all = eventsOf(text).filter((event) => typeOf(event) !== undefined);
  const end = all.findIndex((event) => typeOf(event) === 'message_stop');
  const events = end === -1 ? all : all.slice(0, end + 1);
  const faulty = events.findIndex((event) => typeOf(event) === 'error');
  const good = faulty === -1 ? events : events.slice(0, faulty);
  return {
    text: good.map(asNamed).join(''),
    isWhole: faulty === -1 && end !== -1,
    hasContent: good.some((event) => /"(?:text|thinking|partial_json)":"[^"]/.test(event)),
  };
}

/** Clients of Anthropic drop events without a name. */
function asNamed(event: string): string {
  return /^event:/m.test(event) ? event : `event: ${typeOf(event)}\n${event}`;
}

function typeOf(event: string): string | undefined {
  const type = documentOf(event)?.type;
  return typeof type === 'string' ? type : undefined;
}

function typesIn(text: string): readonly (string | undefined)[] {
  return eventsOf(text).map(typeOf);
}

function figuresOf({ records }: AnyModelGateway): unknown {
  return records.map(({ usage, basis, chargeNanos, outcome, reason }) => ({
    usage,
    basis,
    chargeNanos,
    outcome,
    reason,
  }));
}
