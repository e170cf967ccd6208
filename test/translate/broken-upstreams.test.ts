// suite: slow
/** Translated replies of hostile or broken upstreams: charge, size and end. */
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import {
  type AnyModelSetup,
  anyModelGateway,
  type CallerRequest,
  chat,
  native,
  wholeChat,
} from '../support/any-model-gateway.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';

const events = { 'content-type': 'text/event-stream' };

const data = (document: unknown): string => `data: ${JSON.stringify(document)}\n\n`;

async function called(
  dialect: DialectName,
  request: CallerRequest,
  scripted: ScriptedReply,
  setup: Pick<AnyModelSetup, 'model'> = {},
) {
  const upstream = scriptedUpstream({ headers: events, ...scripted });
  const gateway = anyModelGateway({ upstream, channel: { dialect, upstreamModel: 'm' }, ...setup });
  const reply = await gateway.call(request);
  return { ...reply, record: gateway.records[0], aborted: upstream.aborted };
}

const messageStart = {
  type: 'message_start',
  message: { id: 'msg_1', usage: { input_tokens: 100, output_tokens: 1 } },
};
const textStart = { type: 'content_block_start', index: 0, content_block: { type: 'text' } };
const textDelta = (text: string) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text },
});
const openaiChunk = (delta: unknown, finish: string | null = null) => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason: finish }],
});

describe('the charge of a translated reply', () => {
  it('counts the content after the last usage if the reply is cut off', async () => {
    const chunks = [data(messageStart), data(textStart), data(textDelta('abc'.repeat(50)))];

    const { record } = await called('anthropic', chat(), { chunks, ending: 'reset' });

    expect(record).toMatchObject({ outcome: 'broken', chargeNanos: 161n, basis: 'counted' });
    // One token was stated, and 150 bytes followed, at 0.4 tokens each.
    expect(record?.usage).toMatchObject({ inputTokens: 100, outputTokens: 61 });
  });

  it('is the upstream’s last usage if the reply is complete', async () => {
    const end = {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 7 },
    };
    const chunks = [messageStart, textStart, textDelta('abc'.repeat(50)), end].map(data);

    const { record } = await called('anthropic', chat(), { chunks });

    expect(record).toMatchObject({ outcome: 'complete', chargeNanos: 107n });
  });

  it.each([
    ['whole', chat(wholeChat), { headers: {} }],
    ['streamed', chat(), {}],
  ])('is zero for a blocked prompt without usage, %s', async (kind, request, scripted) => {
    const reply = { promptFeedback: { blockReason: 'SAFETY' } };
    const chunks = [kind === 'whole' ? JSON.stringify(reply) : data(reply)];

    const { status, text, record } = await called('gemini', request, { ...scripted, chunks });

    expect(status).toBe(200);
    expect(text).toContain('"content_filter"');
    expect(record).toMatchObject({ outcome: 'complete', chargeNanos: 0n, basis: 'usage' });
  });

  it('counts audio chunks by their size', async () => {
    const piece = { audio: { data: 'AAAA'.repeat(800) } };
    const chunks = [openaiChunk(piece), openaiChunk(piece)].map(data);

    const { record } = await called('openai', native(), { chunks, ending: 'reset' });

    expect(record).toMatchObject({ outcome: 'broken', basis: 'counted' });
    expect(record?.chargeNanos).toBeLessThan(100n);
  });
});

describe('a stream that looks complete but is not', () => {
  it.each([
    ['anthropic', [messageStart, textStart, textDelta('half')]],
    ['gemini', [{ candidates: [{ content: { parts: [{ text: 'half' }] } }] }]],
  ] as const)('ends with an error if %s had not finished before [DONE]', async (...given) => {
    const [dialect, documents] = given;
    const chunks = [...documents.map(data), 'data: [DONE]\n\n'];

    const { text, record } = await called(dialect, chat(), { chunks });

    expect(text).toContain('half');
    expect(text).toContain('data: {"error":');
    expect(text).not.toContain('[DONE]');
    expect(record?.outcome).toBe('broken');
  });
});

describe('the amount that an upstream can make the gateway buffer', () => {
  const megabyte = 'x'.repeat(1024 * 1024);

  it('is limited for content that is never passed on', async () => {
    const piece = { tool_calls: [{ index: 0, function: { name: 'f', arguments: megabyte } }] };
    const first = data(openaiChunk({ content: 'Well, ' }));
    const chunks = [first, ...Array.from({ length: 40 }, () => data(openaiChunk(piece)))];

    const { text, record, aborted } = await called('openai', native(), { chunks });

    expect(text).toContain('UNAVAILABLE');
    expect(record).toMatchObject({ outcome: 'broken', reason: 'event_too_large' });
    expect(aborted).toBe(1);
  });

  it('is limited for text without framing', async () => {
    const chunks = Array.from({ length: 40 }, () => `${megabyte}\n\n`);

    const { status, aborted } = await called('gemini', chat(), { chunks });

    expect(status).toBe(502);
    expect(aborted).toBe(1);
  });

  it('is limited for endless pings', async () => {
    const chunks = Array.from({ length: 80 }, () => `: ${megabyte}\n\n`);

    const { status, aborted } = await called('gemini', chat(), { chunks });

    expect(status).toBe(502);
    expect(aborted).toBe(1);
  });
});
