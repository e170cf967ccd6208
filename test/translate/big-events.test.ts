// suite: slow
/** Large events of translated streams, which arrive in many chunks, and streams without content. */
import { expect, it } from 'vitest';
import { anyModelGateway, messages } from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';

const headers = { 'content-type': 'text/event-stream' };
const mebibyte = 1024 * 1024;
const model = { maxOutputTokens: 100_000_000, contextTokens: 100_000_000 };
const end =
  'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],' +
  '"usage":{"prompt_tokens":1,"completion_tokens":5,"total_tokens":6}}\n\ndata: [DONE]\n\n';

function event(text: string): string {
  return `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`;
}

function* inChunks(text: string): Iterable<Uint8Array> {
  for (let at = 0; at < text.length; at += 65_536) yield Buffer.from(text.slice(at, at + 65_536));
}

const body = JSON.stringify({
  model: 'm',
  max_tokens: 9,
  stream: true,
  messages: [{ role: 'user', content: 'hi' }],
});

/** How often the character occurs. */
function countOf(character: string, text: string): number {
  return text.length - text.replaceAll(character, '').length;
}

it.each([
  ['its first event has 20 MiB', ['A'.repeat(20 * mebibyte)]],
  ['three events have 8 MiB each', new Array<string>(3).fill('A'.repeat(8 * mebibyte))],
])('a stream is passed on whole if %s', async (_, texts) => {
  const text = texts.map(event).join('') + end;
  const upstream = scriptedUpstream({ headers, chunks: inChunks(text) });
  const gateway = anyModelGateway({ upstream, channel: { dialect: 'openai' }, model });

  const reply = await gateway.call(messages(body));

  const sent = texts.reduce((sum, one) => sum + one.length, 0);
  expect(countOf('A', reply.text)).toBeGreaterThanOrEqual(sent);
  expect(reply.text).toContain('message_stop');
  expect(gateway.records[0]).toMatchObject({ outcome: 'complete' });
});

it.each([
  ['comments', `: ${'x'.repeat(60_000)}\n\n`],
  ['events without content', `data: {"id":"c","choices":[],"x":"${'x'.repeat(60_000)}"}\n\n`],
  ['an event without an end', 'x'.repeat(60_000)],
])('a stream of %s is ended at its bound in bytes', async (_, endless) => {
  let bytes = 0;
  function* chunks(): Iterable<Uint8Array> {
    yield Buffer.from(event('hi'));
    for (;;) {
      bytes += endless.length;
      yield Buffer.from(endless);
    }
  }
  const upstream = scriptedUpstream({ headers, chunks: chunks() });
  const gateway = anyModelGateway({ upstream, channel: { dialect: 'openai' } });

  const reply = await gateway.call(messages(body));

  expect(reply.text).toContain('event: error');
  expect(gateway.records[0]).toMatchObject({ outcome: 'broken' });
  expect(bytes).toBeLessThan(34 * mebibyte);
});
