// suite: quick
/** Translated streams of upstreams with broken SSE framing. */
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import { anyModelGateway, type CallerRequest, chat, native } from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';

const events = { 'content-type': 'text/event-stream' };
const document = { 'content-type': 'application/json' };

const geminiPiece = (text: string, finish = '') =>
  `{"candidates":[{"content":{"role":"model","parts":[{"text":"${text}"}]}${finish},"index":0}]}`;
const geminiLast = (text: string) => geminiPiece(text, ',"finishReason":"STOP"');
const openaiPiece = (text: string, finish = 'null') =>
  `{"id":"c","choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":${finish}}]}`;
const openaiLast = openaiPiece('', '"stop"');

async function called(
  dialect: DialectName,
  request: CallerRequest,
  chunks: readonly string[],
  headers: Readonly<Record<string, string>> = events,
) {
  const upstream = scriptedUpstream({ headers, chunks });
  const gateway = anyModelGateway({ upstream, channel: { dialect, upstreamModel: 'm' } });
  const reply = await gateway.call(request);
  return { ...reply, record: gateway.records[0] };
}

/** The visible text of a chat stream. */
function chatText(text: string): string {
  return [...text.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)]
    .map(([, piece = '""']) => JSON.parse(piece))
    .join('');
}

describe('a Gemini upstream for a chat stream', () => {
  it.each([
    ['CRLF', [`data: ${geminiPiece('a')}\r\n\r\n`, `data: ${geminiLast('b')}\r\n\r\n`]],
    ['lone CR', [`data: ${geminiPiece('a')}\r\r`, `data: ${geminiLast('b')}\r\r`]],
    ['no space after the colon', [`data:${geminiPiece('a')}\n\n`, `data:${geminiLast('b')}\n\n`]],
    [
      'comments and ids',
      [`: hi\nid: 1\ndata: ${geminiPiece('a')}\n\n: ping\n\ndata: ${geminiLast('b')}\n\n`],
    ],
    [
      'data on several lines',
      [
        'data: {"candidates":\n',
        'data: [{"content":{"parts":[{"text":"ab"}]},"finishReason":"STOP"}]}\n\n',
      ],
    ],
    ['no blank line at the end', [`data: ${geminiPiece('a')}\n\n`, `data: ${geminiLast('b')}`]],
    ['pings of Google’s kind', [`data: {}\n\ndata: ${geminiLast('ab')}\n\n`]],
  ])('is read with %s', async (_, chunks) => {
    const { status, text, isCut } = await called('gemini', chat(), chunks);

    expect(status).toBe(200);
    expect(chatText(text)).toBe('ab');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(isCut).toBe(false);
  });

  it('that sends an array in place of events is read', async () => {
    const array = [`[${geminiPiece('a')}\r\n`, `,\r\n${geminiLast('b')}\r\n]`];

    const { status, text } = await called('gemini', chat(), array, document);

    expect(status).toBe(200);
    expect(chatText(text)).toBe('ab');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('that sends one document in place of events is read', async () => {
    const { status, text } = await called('gemini', chat(), [geminiLast('ab')], document);

    expect(status).toBe(200);
    expect(chatText(text)).toBe('ab');
  });

  it('that sends an error document in place of events keeps the error’s status', async () => {
    const error = '{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED"}}';

    const { status } = await called('gemini', chat(), [error], document);

    expect(status).toBe(429);
  });

  it('that sends an error as its first event keeps the error’s status', async () => {
    const error = 'data: {"error":{"code":503,"message":"Busy.","status":"UNAVAILABLE"}}\n\n';

    const { status } = await called('gemini', chat(), [error]);

    expect(status).toBe(503);
  });

  it.each([
    ['a bare error after events', ['{\n"error": {"code": 499,', '"message": "Gone."}}']],
    ['an error event', ['data: {"error":{"code":500,"message":"Oh."}}\n\n']],
    ['half an event', ['data: {"candidates":[{"con']],
    ['broken JSON', ['data: {"candidates":[}\n\n']],
    ['text that is nothing', ['\nInternal Server Error\n\n']],
    ['nothing at all', []],
  ])('%s ends the stream as an error', async (_, tail) => {
    const { status, text, isCut, record } = await called('gemini', chat(), [
      `data: ${geminiPiece('a')}\n\n`,
      ...tail,
    ]);

    expect(status).toBe(200);
    expect(chatText(text)).toBe('a');
    expect(text.endsWith('}}\n\n')).toBe(true);
    expect(text).toContain('data: {"error":');
    expect(text).not.toContain('[DONE]');
    expect(isCut).toBe(false);
    expect(record?.outcome).toBe('broken');
  });

  it('a stream with only pings is a failure', async () => {
    const { status } = await called('gemini', chat(), ['data: {}\n\n', 'data: {}\n\n']);

    expect(status).toBe(502);
  });
});

describe('an OpenAI upstream for a native stream', () => {
  it('may end without [DONE] after its finish', async () => {
    const chunks = [`data: ${openaiPiece('a')}\n\n`, `data: ${openaiLast}\n\n`];

    const { status, text } = await called('openai', native('sse'), chunks);

    expect(status).toBe(200);
    expect(text).toContain('"text":"a"');
    expect(text).toContain('"finishReason":"STOP"');
    expect(text).not.toContain('DONE');
  });

  it('anything after [DONE] is ignored', async () => {
    const chunks = [
      `data: ${openaiPiece('a')}\n\ndata: ${openaiLast}\n\ndata: [DONE]\n\n`,
      `data: ${openaiPiece('b')}\n\n`,
    ];

    const { text } = await called('openai', native('sse'), chunks);

    expect(text).not.toContain('"b"');
  });

  it('an error is sent twice, in separate writes', async () => {
    const chunks = [`data: ${openaiPiece('a')}\n\n`, 'data: {"error":{"message":"Oh."}}\n\n'];

    const { writes } = await called('openai', native('sse'), chunks);
    const [event, bare] = writes.slice(-2).map(String);

    expect(event).toMatch(/^data: \{"error":\{"code":502,.*\}\}\r\n\r\n$/);
    expect(bare).toMatch(/^\{"error":\{"code":502,/);
  });

  it('in the array an error is the last element', async () => {
    const chunks = [`data: ${openaiPiece('a')}\n\n`, 'data: {"error":{"message":"Oh."}}\n\n'];

    const { text } = await called('openai', native('json_array'), chunks);
    const elements = JSON.parse(text);

    expect(elements[0].candidates[0].content.parts[0].text).toBe('a');
    expect(elements.at(-1).error.code).toBe(502);
  });

  it('[DONE] alone is a failure', async () => {
    const { status } = await called('openai', native('sse'), ['data: [DONE]\n\n']);

    expect(status).toBe(502);
  });

  it('a prompt blocked by Azure’s filter is a blocked prompt for native callers', async () => {
    const error = { error: { message: 'Filtered.', code: 'content_filter', status: 400 } };
    const upstream = scriptedUpstream({ status: 400, chunks: [JSON.stringify(error)] });
    const gateway = anyModelGateway({ upstream, channel: { dialect: 'openai' } });

    const { status, text } = await gateway.call(native('json'));

    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ promptFeedback: { blockReason: 'SAFETY' } });
    expect(text).not.toContain('Filtered');
    expect(gateway.records[0]).toMatchObject({ chargeNanos: 0n, outcome: 'not_run' });
  });
});
