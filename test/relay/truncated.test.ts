// suite: search
/**
 * A stream that breaks off ends with an error of the gateway in the exact form that its protocol
 * requires.
 */
import { describe, expect, it } from 'vitest';
import { anyModelGateway, native } from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { type Fixture, fixture } from '../support/recorded/fixtures.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { documentOf, doorOf, eventsOf, relayedChat, relayedNative } from './oracle.ts';
import { brokenStream, json, sse, streamed, streams } from './streams.ts';

/** The error for an upstream that broke off, in each protocol. */
const words = {
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
  images: {},
};

/** Cuts at every byte. By default one byte in three is cut, and each near the end of a line. */
const isFull = process.env.TEST_FORM === 'full';

describe('a stream that breaks off before its last event', () => {
  it.each(
    streams.map((recorded) => [recorded.name, recorded] as const),
  )('%s ends with an error of the gateway', async (_, recorded) => {
    const api = doorOf(recorded);
    const cut = withoutEnd(recorded.response.toString());

    for (const ending of ['end', 'reset'] as const) {
      const reply = await relayed(recorded, cut, ending);

      const expected = api === 'native' ? relayedNative(cut) : relayedChat(cut, false);
      expect(reply.isCut).toBe(false);
      if (!message(expected.text)) {
        expect(reply.status).toBe(502);
        expect(JSON.parse(reply.text)).toEqual({ error: words[api] });
      } else {
        expect(brokenStream(api, reply)).toEqual({ before: expected.text, error: words[api] });
      }
    }
  });
});

describe('a stream cut at any byte', () => {
  const names = [
    'openai-chat/stream-usage.1',
    'openai-chat/stream-tools.1',
    'gemini/v-stream-text',
  ];

  it.each(names)('%s is either complete or ends with an error of the gateway', async (name) => {
    const recorded = fixture(name);
    const { response } = recorded;
    const api = doorOf(recorded);

    for (const end of placesIn(response)) {
      const cut = response.subarray(0, end).toString();
      const whole = wholeEvents(cut, api === 'native');
      const expected = api === 'native' ? relayedNative(whole) : relayedChat(whole, false);

      const reply = await relayed(recorded, cut, 'end');

      const broken = brokenStream(api, reply);
      if (reply.status === 502) expect(message(whole)).toBe(false);
      else if (ends(whole)) expect(reply.text).toBe(expected.text);
      else expect(broken).toEqual({ before: expected.text, error: words[api] });
    }
  });

  it('is complete at its last event, with or without the blank line', async () => {
    const done = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]';
    const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}';

    for (const text of [done, `${done}\n`, finish, `${finish}\n`, `${finish}\n\ndata: {"us`]) {
      const reply = await relayed(fixture('openai-chat/stream-basic.1'), text, 'end');

      expect(reply.text).toBe(text.replace('data: {"us', ''));
    }
  });
});

describe('a JSON array that breaks off', () => {
  const recorded = fixture('gemini/v-stream-text');
  const documents = eventsOf(recorded.response.toString()).map((event) =>
    JSON.stringify(documentOf(event), null, 2),
  );
  const text = `[${documents.join('\n,\r\n')}\n]\n`;

  it('is passed on unchanged if it is complete', async () => {
    const reply = await relayedArray(text, 'end');

    expect(reply.text).toBe(text);
  });

  it('is closed after an error element, wherever it was cut', async () => {
    const ends = Array.from({ length: text.length - 2 }, (_, at) => at + 1);
    const whole = documents.map((_, count) => `[${documents.slice(0, count).join('\n,\r\n')}`);

    for (const end of ends.filter((at) => isFull || at % 3 === 0)) {
      const reply = await relayedArray(text.slice(0, end), 'end');

      expect(reply.isCut).toBe(false);
      if (reply.status === 502) {
        expect(JSON.parse(reply.text)).toEqual({ error: words.native });
        continue;
      }
      const elements = JSON.parse(reply.text);
      expect(elements.at(-1)).toEqual({ error: words.native });
      const before = [...whole, `[${documents.join('\n,\r\n')}`][elements.length - 1];
      expect(reply.text).toBe(`${before},{"error":${JSON.stringify(words.native)}}]`);
    }
  });

  it('is complete if it was reset after its end, because its usage has arrived', async () => {
    const reply = await relayedArray(text, 'reset');

    expect(reply.isCut).toBe(false);
    expect(reply.text).toBe(text);
  });
});

function placesIn(response: Uint8Array): readonly number[] {
  const lineEnd = '\n'.charCodeAt(0);
  const every = Array.from({ length: response.length - 1 }, (_, at) => at + 1);
  return every.filter(
    (end) =>
      isFull || end % 3 === 0 || response.subarray(Math.max(0, end - 2), end + 2).includes(lineEnd),
  );
}

async function relayed(
  recorded: Fixture,
  text: string,
  ending: 'end' | 'reset',
): Promise<CallerReply> {
  const upstream = scriptedUpstream({ ...sse(...eventsOf(text)), ending });
  return anyModelGateway({ upstream }).call(streamed(doorOf(recorded)));
}

async function relayedArray(text: string, ending: 'end' | 'reset'): Promise<CallerReply> {
  const middle = text.length >> 1;
  const upstream = scriptedUpstream({ ...json(text.slice(0, middle), text.slice(middle)), ending });
  return anyModelGateway({ upstream }).call(native('json_array'));
}

const content =
  /"(?:content|text|name|arguments|reasoning_content|reasoning)" ?: ?"[^"]|"data" ?: ?"/;

/** True if any event has content, and not only a role. */
function message(text: string): boolean {
  return content.test(text) || text.includes('_details":[{');
}

/** The events before the first that says that the stream has ended. */
function withoutEnd(text: string): string {
  const events = eventsOf(text);
  const last = events.findIndex(ends);
  const before = last === -1 ? events.slice(0, -1) : events.slice(0, last);
  return before.length === 0 ? (events[0] ?? '').slice(0, -9) : before.join('');
}

function ends(text: string): boolean {
  return /\[DONE\]|"finish_reason":"|"(?:finish|block)Reason" ?: ?"/.test(text);
}

/**
 * The events that are complete. One that lacks only its blank line counts for Google, whose parsers
 * get it reframed; for chat it counts if the stream ends with it.
 */
function wholeEvents(text: string, native: boolean): string {
  return eventsOf(text)
    .filter((event) => {
      if (/(?:\r\n\r\n|\n\n)$/.test(event)) return true;
      const isWhole = documentOf(event) !== undefined || event.trim() === 'data: [DONE]';
      return isWhole && (native || ends(text));
    })
    .join('');
}
