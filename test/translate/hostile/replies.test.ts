// suite: search
/** Replies of a size or depth that no model generates are read in linear time, and end. */
import { describe, expect, it } from 'vitest';
import { type DialectTable, dialects } from '../../../src/dialects/table.ts';
import type { JsonValue } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  native,
  wholeChat,
} from '../../support/any-model-gateway.ts';
import { clientCodecs } from '../../support/codecs.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { begin as beginAnthropic } from '../anthropic/client.ts';
import { begin as geminiExchange } from '../gemini/client.ts';
import { callsOf, chunk, eventsOfStream, finishesOf } from '../openai/client.ts';

const many = 30_000;
/** The most tool calls, and the most citations, that a reply may have. */
const atMost = 10_000;
const list = (make: (index: number) => JsonValue): readonly JsonValue[] =>
  Array.from({ length: many }, (_, index) => make(index));

/**
 * Gemini's dialect with a reader that overflows the stack, as a document that was too deep once
 * did.
 */
const overflowing: DialectTable = {
  ...dialects,
  gemini: {
    ...dialects.gemini,
    codecs: async () => ({
      ...clientCodecs.gemini,
      content: {
        begin: (request, target) => {
          const exchange = clientCodecs.gemini.content.begin(request, target);
          const reader = exchange.readStream();
          return {
            ...exchange,
            readReply: (reply) => exchange.readReply(refusingDepth(reply)),
            readStream: () => ({ ...reader, read: (event) => reader.read(refusingDepth(event)) }),
          };
        },
      },
    }),
  },
};

function refusingDepth(document: JsonValue): JsonValue {
  if (!JSON.stringify(document).includes('too deep')) return document;
  throw new RangeError('Maximum call stack size exceeded');
}

async function called(
  dialect: DialectName,
  request: CallerRequest,
  chunks: readonly string[],
  table: DialectTable = dialects,
) {
  const isWhole = chunks[0]?.startsWith('{') === true;
  const headers: Readonly<Record<string, string>> = isWhole
    ? {}
    : { 'content-type': 'text/event-stream' };
  const upstream = scriptedUpstream({ headers, chunks });
  const gateway = anyModelGateway({ upstream, channel: { dialect, upstreamModel: 'm' }, table });
  const reply = await gateway.call(request);
  return { ...reply, records: gateway.records, aborted: upstream.aborted };
}

describe('an OpenAI upstream', () => {
  it('may send thousands of calls in fragments', () => {
    const begins = list((index) => ({ index, id: `c${index}`, function: { name: 'f' } })).slice(
      0,
      atMost,
    );
    const pieces = list((index) => ({ index, function: { arguments: `{"i":${index}}` } })).slice(
      0,
      atMost,
    );

    const calls = callsOf(
      eventsOfStream([
        chunk({ tool_calls: begins }),
        chunk({ tool_calls: pieces }),
        chunk({}, 'tool_calls'),
      ]),
    );

    expect(calls).toHaveLength(atMost);
    expect(calls.at(-1)?.arguments).toBe(`{"i":${atMost - 1}}`);
  });

  it('may repeat a call’s name with every fragment', () => {
    const first = chunk({
      tool_calls: [{ index: 0, function: { name: 'f', arguments: '{"a":"' } }],
    });
    const piece = chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] });
    const last = chunk({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }, 'stop');

    const [call, ...others] = callsOf(eventsOfStream([first, ...list(() => piece), last]));

    expect(others).toEqual([]);
    expect(JSON.parse(call?.arguments ?? '')).toEqual({ a: '{}'.repeat(many) });
  });

  it('begins another call after complete arguments, including escapes', () => {
    const piece = (text: string) =>
      chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: text } }] });

    const calls = callsOf(
      eventsOfStream([
        piece('{"a":"\\"}{'),
        piece('\\\\"}'),
        piece('{"b":[1]}'),
        chunk({}, 'stop'),
      ]),
    );

    expect(calls.map((call) => call.arguments)).toEqual(['{"a":"\\"}{\\\\"}', '{"b":[1]}']);
  });

  it('is read up to the choices that a request can ask for', () => {
    const choices = list(() => ({ delta: { content: 'a' }, finish_reason: 'stop' }));

    const events = eventsOfStream([{ choices }]);

    expect(finishesOf(events)).toHaveLength(1024);
  });
});

describe('a Gemini upstream', () => {
  it('is read up to the candidates that a request can ask for', () => {
    const candidates = list(() => ({ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }));

    const events = geminiExchange().readReply({ candidates });

    expect(events.filter(({ type }) => type === 'finish')).toHaveLength(128);
  });

  it('may send a thousand grounding members, including `__proto__`', () => {
    const grounding: JsonValue = JSON.parse('{"__proto__":{"polluted":true},"a":1}');
    const reported = (more: JsonValue) => ({ candidates: [{ groundingMetadata: more }] });
    const reader = geminiExchange().readStream();

    reader.read({ candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }] });
    reader.read(reported(grounding));
    reader.read(reported({ b: 2 }));
    const own = reader.end().find(({ type }) => type === 'provider_specific');

    expect(JSON.stringify(own)).toContain('{"__proto__":{"polluted":true},"a":1,"b":2}');
    expect(own).not.toHaveProperty('polluted');
  });

  it('has code on a separate line after text, and after other code', () => {
    const code = { executableCode: { language: 'PYTHON', code: 'x' } };
    const parts = [{ text: 'So:' }, code, code];

    const events = geminiExchange().readReply({
      candidates: [{ content: { parts }, finishReason: 'STOP' }],
    });
    const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('');

    expect(text).toBe('So:\n```python\nx\n```\n```python\nx\n```\n');
  });
});

describe('an Anthropic upstream', () => {
  it('may cite a text thousands of times', () => {
    const reader = beginAnthropic().readStream();
    const citation = { url: 'https://a.example' };
    reader.read({ type: 'content_block_start', index: 0, content_block: { type: 'text' } });
    for (const _ of list(() => 0)) {
      reader.read({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'citations_delta', citation },
      });
    }

    const [event] = reader.read({ type: 'content_block_stop', index: 0 });

    expect(event?.type === 'citations' && event.citations).toHaveLength(atMost);
  });

  it('has unknown blocks kept with every member, including `__proto__`', () => {
    const reader = beginAnthropic().readStream();
    const delta: JsonValue = JSON.parse('{"type":"odd_delta","__proto__":"x","say":"b"}');
    reader.read({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'odd', say: 'a' },
    });
    reader.read({ type: 'content_block_delta', index: 0, delta });

    const own = reader.end().find(({ type }) => type === 'provider_specific');

    expect(JSON.stringify(own)).toContain('[{"type":"odd","say":"ab","__proto__":"x"}]');
  });
});

describe('a codec that throws', () => {
  const reply =
    '{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"too deep"}]},' +
    '"finishReason":"STOP"}]}';
  const begins = 'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\n\n';

  it.each([
    ['whole', chat(wholeChat), [reply]],
    ['streamed', chat(), [`data: ${reply}\n\n`]],
  ])('is reported as a failure, and its hold is settled once, %s', async (_, request, chunks) => {
    const { status, text, records } = await called('gemini', request, chunks, overflowing);

    expect(status).toBeGreaterThanOrEqual(500);
    expect(text).not.toContain('stack');
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({ outcome: 'unknown', chargeNanos: 0n });
  });

  it('ends a started stream with an error, and aborts the upstream', async () => {
    const chunks = [begins, `data: ${reply}\n\n`, begins];

    const { text, records, aborted } = await called('gemini', chat(), chunks, overflowing);

    expect(text.match(/data: \{"error":/g)).toHaveLength(1);
    expect(text).not.toContain('[DONE]');
    expect(records).toHaveLength(1);
    expect(records[0]?.outcome).toBe('broken');
    expect(aborted).toBe(1);
  });
});

describe('the end of a native stream of a broken upstream', () => {
  it('is the error twice, and no finish', async () => {
    const { text, writes } = await called('openai', native(), [
      'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
      'data: {"error":{"message":"key sk-abcdefgh12345678 is bad"}}\n\n',
    ]);

    expect(text).not.toContain('finishReason');
    expect(text).not.toContain('sk-abc');
    expect(writes.at(-1)?.toString()).toMatch(/^\{"error":/);
  });
});
