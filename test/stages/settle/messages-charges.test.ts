// suite: slow
/** What relayed Messages calls are charged: by the usage of the reply, and by what came of it. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import { tokenPrice } from '../../../src/prices/codec.ts';
import { json, sse } from '../../relay/streams.ts';
import { anyModelGateway, messages, wholeMessage } from '../../support/any-model-gateway.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { fixture } from '../../support/recorded/fixtures.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

/** Tokens in nanos, each kind at a rate of its own. */
const price = tokenPrice({
  ...{ input: '0.001', output: '0.01', cachedInput: '0.0001', cacheWrite5m: '0.002' },
  ...{ cacheWrite1h: '0.004', members: { web_search: { perCall: '0.001', holdCalls: 5 } } },
});

function event(type: string, members: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

function start(usage: JsonObject): string {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
  return event('message_start', { message: { ...message, usage } });
}

function text(words: string): string {
  return event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: words } });
}

function finish(usage: JsonObject): string {
  return event('message_delta', { delta: { stop_reason: 'end_turn' }, usage });
}

const opened = event('content_block_start', {
  index: 0,
  content_block: { type: 'text', text: '' },
});
const closed = event('content_block_stop', { index: 0 });
const stopped = event('message_stop', {});
const ping = event('ping', {});

async function streamed(
  ...chunks: readonly string[]
): Promise<{ readonly reply: CallerReply; readonly record: UsageRecord }> {
  const gateway = anyModelGateway({ upstream: scriptedUpstream(sse(...chunks)), model: { price } });
  const reply = await gateway.call(messages());
  return { reply, record: onlyRecord(gateway.records) };
}

/** The record of a call with this usage that is not streamed. */
async function wholeRecord(usage: JsonObject): Promise<UsageRecord> {
  const content = [{ type: 'text', text: 'Hi' }];
  const reply = { id: 'msg_1', type: 'message', role: 'assistant', content, usage };
  const upstream = scriptedUpstream(json(JSON.stringify(reply)));
  const gateway = anyModelGateway({ upstream, model: { price } });
  await gateway.call(messages(wholeMessage));
  return onlyRecord(gateway.records);
}

function onlyRecord([record]: readonly UsageRecord[]): UsageRecord {
  if (record === undefined) throw new Error('The call left no record.');
  return record;
}

describe('a complete stream', () => {
  it('is charged by the last usage, for reads and both kinds of writes', async () => {
    const { record } = await streamed(
      start({ input_tokens: 100, output_tokens: 1 }) + opened,
      text('Hi') + closed,
      finish({
        ...{ input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 1_000 },
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
      }) + stopped,
    );

    expect(record).toMatchObject({
      outcome: 'complete',
      chargeNanos: 10n + 50n + 100n + 400n + 400n,
      usage: { inputTokens: 1_310, cachedInputTokens: 1_000, cacheWrite1hTokens: 100 },
    });
  });

  const figures = [undefined, 0, 100, 700];
  const writes = figures.flatMap((total) =>
    figures.flatMap((minutes) => figures.map((hour) => [total, minutes, hour] as const)),
  );

  it.each(
    writes,
  )('charges %s writes, or their kinds: %s, %s', async (total, minutes = 0, hour = 0) => {
    const usage = {
      ...{ input_tokens: 10, output_tokens: 5 },
      cache_creation: { ephemeral_5m_input_tokens: minutes, ephemeral_1h_input_tokens: hour },
      ...(total === undefined ? {} : { cache_creation_input_tokens: total }),
    };
    const written = Math.max(total ?? 0, minutes + hour);
    const chargeNanos = BigInt(10 + 50 + 2 * (written - hour) + 4 * hour);

    const whole = await wholeRecord(usage);
    const { record } = await streamed(start({}) + opened, text('Hi') + closed, finish(usage));

    expect([whole.chargeNanos, record.chargeNanos]).toEqual([chargeNanos, chargeNanos]);
  });

  it.each<[string, JsonObject[], number]>([
    ['one pass', [{ type: 'message', input_tokens: 10, output_tokens: 50 }], 50],
    [
      'two passes',
      [
        { type: 'message', input_tokens: 4, output_tokens: 20 },
        { type: 'message', input_tokens: 6, output_tokens: 30 },
      ],
      50,
    ],
    [
      'a pass and an adviser',
      [
        { type: 'message', input_tokens: 10, output_tokens: 50 },
        { type: 'advisor_message', output_tokens: 7 },
      ],
      57,
    ],
  ])('counts output once if only its iterations state it: %s', async (_, iterations, tokens) => {
    const { record } = await streamed(
      start({ input_tokens: 10, output_tokens: 1 }) + opened,
      text('words '.repeat(20)) + closed,
      finish({ iterations }) + stopped,
    );

    expect(record).toMatchObject({ usage: { inputTokens: 10, outputTokens: tokens } });
    expect(record.chargeNanos).toBe(BigInt(10 + 10 * tokens));
  });

  it('is counted if its iterations state no output of the reply itself', async () => {
    const { record } = await streamed(
      start({ input_tokens: 10, output_tokens: 1 }) + opened,
      text('words '.repeat(20)) + closed,
      finish({ iterations: [{ type: 'advisor_message', output_tokens: 7 }] }) + stopped,
    );

    // 120 bytes at 0.4 tokens, and the adviser's.
    expect(record.usage?.outputTokens).toBeGreaterThanOrEqual(55);
  });

  it('keeps the figures of its start where the end has none, or only zeros', async () => {
    for (const usage of [{ output_tokens: 5 }, { input_tokens: null, output_tokens: 5 }]) {
      const { record } = await streamed(
        start({ input_tokens: 100, output_tokens: 1 }) + opened + text('Hi') + closed,
        finish(usage) + finish({ input_tokens: 0, output_tokens: 0 }) + stopped,
      );

      expect(record).toMatchObject({ chargeNanos: 150n });
    }
  });

  it('is charged for the searches that it reports', async () => {
    const server_tool_use = { web_search_requests: 3, web_fetch_requests: 2 };
    const { record } = await streamed(
      start({ input_tokens: 10, output_tokens: 1 }) + opened + text('Hi') + closed,
      finish({ input_tokens: 10, output_tokens: 1, server_tool_use }) + stopped,
    );

    expect(record).toMatchObject({ chargeNanos: 20n + 3_000_000n });
  });

  it('is charged for an adviser that ran beside it', async () => {
    const recorded = Buffer.from(fixture('messages/stream-advisor.1').response).toString();
    const { record } = await streamed(recorded);
    const stated = [...recorded.matchAll(/"usage":(\{.*\})/g)].at(-1)?.[1] ?? '';
    const iterations = [...stated.matchAll(/"type":"(\w+)"/g)].map(([, type]) => type);

    expect(iterations).toContain('advisor_message');
    const passes = [...stated.matchAll(/\{[^{}]*(?:\{[^{}]*\}[^{}]*)?"type":"\w+"[^{}]*\}/g)];
    const output = passes.reduce(
      (sum, [pass]) => sum + Number(/"output_tokens":(\d+)/.exec(pass)?.[1]),
      0,
    );
    expect(passes.length).toBe(iterations.length);
    expect(record.usage?.outputTokens).toBe(output);
    expect(record.usage).not.toHaveProperty('passes');
  });
});

describe('a stream that breaks off', () => {
  const words = 'word '.repeat(100);

  it('before its stop is charged the input of its start, and the output that came', async () => {
    const { reply, record } = await streamed(
      start({ input_tokens: 100, output_tokens: 3 }) + opened,
      text(words),
    );

    expect(reply.text).toMatch(/event: error\ndata: \{"type":"error"[^\n]+\n\n$/);
    // 500 bytes at 0.4 tokens, beside the 3 that the start states.
    expect(record).toMatchObject({
      outcome: 'broken',
      usage: { inputTokens: 100, outputTokens: 203 },
      chargeNanos: 100n + 2_030n,
    });
  });

  it('is not charged for pings, padding and results of tools', async () => {
    const padded = text(words).replace('}}\n\n', `}${' '.repeat(5_000)}}\n\n`);
    const result = event('content_block_start', {
      index: 1,
      content_block: {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [{ type: 'web_search_result', url: 'https://x.example', title: words }],
      },
    });
    const { record } = await streamed(
      start({ input_tokens: 100, output_tokens: 3 }) + opened,
      padded + ping.repeat(50) + closed + result,
    );

    expect(record).toMatchObject({ usage: { outputTokens: 203 } });
  });

  it('after its last usage is charged by that, although the reply is not complete', async () => {
    const { reply, record } = await streamed(
      start({ input_tokens: 100, output_tokens: 3 }) + opened + text(words) + closed,
      finish({ input_tokens: 100, output_tokens: 120 }),
    );

    expect(reply.text).toContain('event: error');
    expect(record).toMatchObject({ outcome: 'broken', chargeNanos: 100n + 1_200n });
  });

  it.each([
    ['only a start', [start({ input_tokens: 100, output_tokens: 3 })]],
    ['a start and pings', [start({ input_tokens: 100, output_tokens: 3 }) + ping, opened]],
    ['nothing', [ping]],
  ])('with %s costs nothing', async (_, chunks) => {
    const { reply, record } = await streamed(...chunks);

    expect(reply.status).toBe(502);
    expect(record).toMatchObject({ chargeNanos: 0n });
  });
});

describe('a stream without usage', () => {
  it('is charged by its content', async () => {
    const { record } = await streamed(
      start({}) + opened + text('word '.repeat(4)) + closed,
      event('message_delta', { delta: { stop_reason: 'end_turn' } }) + stopped,
    );

    expect(record).toMatchObject({ outcome: 'complete', basis: 'counted' });
    // 20 bytes at 0.4 tokens, and the prompt.
    expect(record.chargeNanos).toBeGreaterThan(80n);
    expect(record.chargeNanos).toBeLessThan(record.heldNanos);
  });
});
