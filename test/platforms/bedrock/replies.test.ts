// suite: quick
/** Replies of Bedrock's runtime reach callers in Anthropic's form, whole, cut or damaged. */
import { describe, expect, it } from 'vitest';
import { bedrock } from '../../../src/platforms/bedrock/bedrock.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  messages,
  wholeMessage,
} from '../../support/any-model-gateway.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { someOf } from '../../support/sample.ts';
import { type ScriptedReply, scriptedUpstream } from '../../support/scripted-upstream.ts';
import {
  asServerSent,
  chunk,
  exception,
  message,
  metrics,
  replyEvents,
  streamHeaders,
} from './messages.ts';

const runtime = bedrock({ region: 'us-east-1', kind: 'runtime' });
const reply = Buffer.concat(replyEvents().map(chunk));

/** Sends one call to the runtime, which answers with these chunks. */
async function call(
  scripted: ScriptedReply,
  request: CallerRequest = messages(),
  channel: { readonly countModel?: string } = {},
) {
  const upstream = scriptedUpstream(scripted);
  const gateway = anyModelGateway({ upstream, channel: { ...runtime, ...channel } });
  const answer = await gateway.call(request);
  return { ...answer, record: gateway.records[0], events: gateway.events, upstream };
}

function streamed(...chunks: readonly Buffer[]): ScriptedReply {
  return { headers: streamHeaders, chunks };
}

/** The words that reached the caller. */
function textOf({ text }: Pick<CallerReply, 'text'>): string {
  return [...text.matchAll(/"text_delta","text":"([^"]*)"/g)].map(([, word]) => word).join('');
}

describe('a streamed reply of the runtime', () => {
  it('has the events of Anthropic, byte for byte, and its usage', async () => {
    const { status, text, headers, record } = await call(streamed(reply));

    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^text\/event-stream/);
    expect(text).toBe(asServerSent(replyEvents()));
    expect(record).toMatchObject({
      outcome: 'complete',
      usage: { inputTokens: 25, outputTokens: 15 },
    });
  });

  it('is the same wherever it is cut into chunks', async () => {
    const expected = asServerSent(replyEvents());
    for (const at of someOf([...reply.keys()])) {
      const { text } = await call(streamed(reply.subarray(0, at), reply.subarray(at)));
      expect(text, `cut at ${at}`).toBe(expected);
    }
  });

  it('breaks off if it ends at any byte before its last event', async () => {
    const last = reply.length - chunk(replyEvents().at(-1)).length;
    for (const at of someOf([...reply.keys()].filter((index) => index > 0))) {
      const { record, status, text } = await call(streamed(reply.subarray(0, at)));
      expect(record?.outcome, `cut at ${at}`).not.toBe('complete');
      expect(text, `cut at ${at}`).not.toContain('message_stop');
      if (status === 200) expect(text, `cut at ${at}`).toContain('event: error');
      else expect(at).toBeLessThan(last);
    }
  });

  it('breaks off if any bit differs, and is charged like a cut stream', async () => {
    const parts = replyEvents().map(chunk);
    const intact = parts.slice(0, 3);
    const start = Buffer.concat(intact).length;
    const cut = await call(streamed(...intact, (parts[3] ?? Buffer.alloc(0)).subarray(0, 40)));

    for (const at of someOf(Array.from({ length: parts[3]?.length ?? 0 }, (_, index) => index))) {
      // A greater length only makes the message wait for more.
      const changed = Buffer.from(reply);
      changed[start + at] = (changed[start + at] ?? 0) ^ 0x10;
      const { record, text, upstream } = await call(streamed(changed));
      expect(textOf({ text }), `byte ${at}`).toBe('Hello');
      expect(text, `byte ${at}`).toContain('event: error');
      expect(record, `byte ${at}`).toMatchObject({
        outcome: 'broken',
        reason: 'upstream_protocol_error',
        chargeNanos: cut.record?.chargeNanos,
        usage: cut.record?.usage,
      });
      expect(upstream.aborted, `byte ${at}`).toBe(1);
    }
  });

  it('fails over while nothing of it has been read', async () => {
    const damaged = Buffer.from(reply);
    damaged[20] = (damaged[20] ?? 0) ^ 1;
    const upstream = scriptedUpstream(streamed(damaged), streamed(reply));
    const channels = ['a', 'b'].map((id) => ({ id, credential: 'key', ...runtime }));
    const gateway = anyModelGateway({ upstream, model: { channels } });

    const { text } = await gateway.call(messages());

    expect(text).toBe(asServerSent(replyEvents()));
    expect(upstream.requests).toHaveLength(2);
  });

  it('is translated for callers of other APIs', async () => {
    const { status, text } = await call(streamed(reply), chat());

    expect(status).toBe(200);
    expect(text).toContain('"content":"Hello"');
    expect(text).toContain('"finish_reason":"stop"');
  });

  it('takes its usage from the metrics of AWS where the events have none', async () => {
    const events = replyEvents().map((event) =>
      JSON.parse(JSON.stringify(event, (name, value) => (name === 'usage' ? undefined : value))),
    );
    const { text, record } = await call(streamed(...events.map(chunk)));

    expect(record?.usage).toMatchObject({
      inputTokens: metrics.inputTokenCount,
      outputTokens: metrics.outputTokenCount,
    });
    expect(text).toContain('"usage":{"input_tokens":25,"output_tokens":15}}');
    expect(text.match(/event: message_delta/g)).toHaveLength(1);
  });

  it('may have messages of other kinds, empty ones and line ends between its values', async () => {
    const noise = [
      message({ ':message-type': 'event', ':event-type': 'news' }, '{"x":1}'),
      message({ ':message-type': 'event', ':event-type': 'chunk' }, '{}'),
      chunk({}),
    ];
    const spaced = replyEvents().map((event) => chunk(JSON.stringify(event, null, 2)));
    const { text, record } = await call(streamed(...noise, ...spaced, ...noise));

    expect(record?.outcome).toBe('complete');
    expect(textOf({ text: text.replace(/\s+/g, '') })).toBe('Hellothere');
  });

  it.each([
    ['throttlingException', 'upstream_rate_limited', 429],
    ['modelStreamErrorException', 'upstream_error', 502],
    ['internalServerException', 'upstream_error', 502],
    ['modelTimeoutException', 'upstream_timeout', 504],
    ['serviceUnavailableException', 'upstream_overloaded', 529],
    ['validationException', 'upstream_refused', 400],
    ['newException', 'upstream_error', 502],
  ])('%s at its start is the failure %s', async (name, reason, status) => {
    for (const as of ['event', 'exception'] as const) {
      const failed = await call(streamed(exception(name, 'Too bad.', as)));

      expect(failed.record).toMatchObject({ reason });
      expect(failed.status).toBe(status);
    }
  });

  it('ends with an error if there is an exception inside of it', async () => {
    const [start, block, word] = replyEvents().map(chunk);
    const unmodeled = message(
      { ':message-type': 'error', ':error-code': 'InternalError', ':error-message': 'Too bad.' },
      '',
    );
    for (const failure of [exception('throttlingException', 'Wait.', 'exception'), unmodeled]) {
      const chunks = [start, block, word, failure].filter((part) => part !== undefined);
      const { text, record } = await call(streamed(...chunks));

      expect(textOf({ text })).toBe('Hello');
      expect(text.trimEnd().split('\n').at(-2)).toBe('event: error');
      expect(record?.outcome).toBe('broken');
    }
  });

  it('passes if another server has read the messages of AWS already', async () => {
    const headers = { 'content-type': 'text/event-stream' };
    const { text } = await call({ headers, chunks: [asServerSent(replyEvents())] });

    expect(text).toBe(asServerSent(replyEvents()));
  });
});

describe('a whole reply of the runtime', () => {
  it('passes unchanged', async () => {
    const body =
      '{"id":"msg_bdrk_1","type":"message","role":"assistant","content":[],' +
      '"usage":{"input_tokens":3,"output_tokens":4}}';
    const { text, record } = await call({ chunks: [body] }, messages(wholeMessage));

    expect(text).toBe(body);
    expect(record?.usage).toMatchObject({ inputTokens: 3, outputTokens: 4 });
  });
});

describe('a count of tokens on the runtime', () => {
  const request: CallerRequest = {
    path: '/v1/messages/count_tokens',
    body: '{"model":"m","messages":[{"role":"user","content":"hi"}]}',
  };

  it('asks for the model that can be counted', async () => {
    const { text, upstream } = await call({ chunks: ['{"input', 'Tokens":11}'] }, request, {
      countModel: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    });

    expect(text).toBe('{"input_tokens":11}');
    const [sent] = upstream.requests;
    expect(sent?.path).toBe('/model/anthropic.claude-sonnet-4-5-20250929-v1:0/count-tokens');
    const { input } = JSON.parse(Buffer.concat(sent?.body ?? []).toString());
    expect(JSON.parse(Buffer.from(input.invokeModel.body, 'base64').toString())).toEqual({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'hi' }],
    });
  });

  it('is estimated without one, and nothing is sent', async () => {
    const { status, text, headers, upstream } = await call({}, request);

    expect(status).toBe(200);
    expect(JSON.parse(text).input_tokens).toBeGreaterThan(0);
    expect(headers['x-tollgate-estimated']).toBe('input_tokens');
    expect(upstream.requests).toEqual([]);
  });

  it.each([
    '{"inputTokens":"11"}',
    '{}',
    'no JSON',
    ' '.repeat(70_000),
  ])('fails if the reply is none (%#)', async (chunk) => {
    const { status } = await call({ chunks: [chunk] }, request, { countModel: 'c' });

    expect(status).toBe(502);
  });
});
