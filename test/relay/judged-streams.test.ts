// suite: slow
/** Only events of its dialect reach the caller of a relayed stream, whatever the upstream sends. */
import { describe, expect, it } from 'vitest';
import { anyModelGateway, chat, native } from '../support/any-model-gateway.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { bytewise, sse } from './streams.ts';

const canary = 'sk-canary-0123456789';
const word = {
  chat: 'data: {"choices":[{"index":0,"delta":{"content":"Once"}}]}\n\n',
  native: 'data: {"candidates":[{"content":{"parts":[{"text":"Once"}]}}]}\r\n\r\n',
  array: '[{"candidates":[{"content":{"parts":[{"text":"Once"}]}}]}\n',
};
const requests = { chat: chat(), native: native(), array: native('json_array') };

/** Text that an upstream, or a proxy in front of it, may send outside its wire format. */
const invalidText: readonly string[] = [
  `data: ${canary}\n\n`,
  `data: "${canary}"\n\n`,
  `data: ["${canary}"]\n\n`,
  `data: {"error":{"message":"${canary}\n\n`,
  `data: {"choices":[{"delta":{"content":"${canary}\n\n`,
  `data: {"message":"${canary}"}\n\n`,
  `data: {"detail":"${canary}"}\n\n`,
  `data: {"info":"${canary}"}\n\n`,
  `data: {"object":"status","message":"${canary}"}\n\n`,
  `: ${canary}\n\n`,
  `id: ${canary}\n\n`,
  `event: ${canary}\n\n`,
  `retry: ${canary}\n\n`,
  `${canary}\n\n`,
  `<html>${canary}</html>\n\n`,
  `event: error\ndata: ${canary}\n\n`,
  `{"error":{"message":"${canary}"}}\n\n`,
];

describe.each(['chat', 'native'] as const)('a relayed %s stream', (api) => {
  it('passes on nothing but events of its dialect, wherever the rest comes', async () => {
    for (const output of invalidText) {
      for (const text of [
        output,
        output + word[api],
        word[api] + output,
        word[api] + output.trim(),
      ]) {
        for (const chunks of [[text], bytewise(Buffer.from(text))]) {
          const upstream = scriptedUpstream(sse(...chunks));
          const { text: answer } = await anyModelGateway({ upstream }).call(requests[api]);
          expect([text, answer.includes(canary)]).toEqual([text, false]);
        }
      }
    }
  });

  it.each([
    ['text/plain; charset=utf-8'],
    ['application/octet-stream'],
    ['text/html'],
    ['application/x-ndjson'],
    [undefined],
  ])('is recognised by its bytes if its content type is %s', async (type) => {
    const end = api === 'chat' ? 'data: [DONE]\n\n' : '';
    const last = word[api].replace('"Once"', '"."').replace(/(\]?\}\]\})/, '$1');
    const text = `${word[api]}${last}${end}`;
    const headers = type === undefined ? {} : { 'content-type': type };
    for (const chunks of [[text], bytewise(Buffer.from(text)), ['\n', text]]) {
      const scripted: ScriptedReply = { headers, chunks };
      const reply = await anyModelGateway({ upstream: scriptedUpstream(scripted) }).call(
        requests[api],
      );
      expect(reply.status).toBe(200);
      expect(reply.headers['content-type']).toContain('text/event-stream');
      expect(reply.text).toContain('Once');
    }
  });
});

it('a relayed array passes on only elements that are parts of a reply', async () => {
  for (const output of [
    `"${canary}"`,
    `{"message":"${canary}"}`,
    `["${canary}"]`,
    `{"x":"${canary}"}`,
  ]) {
    for (const text of [`[${output}]`, `${word.array},${output}]`, `${word.array},${output}`]) {
      const upstream = scriptedUpstream(sse(text));
      const { text: answer } = await anyModelGateway({ upstream }).call(requests.array);
      expect([text, answer.includes(canary)]).toEqual([text, false]);
    }
  }
});

it('a stream of comments is ended at its bound in bytes, and no comment is passed on', async () => {
  const comment = Buffer.from(`: ${'x'.repeat(65_000)}\n\n`);
  function* chunks(): Iterable<Uint8Array> {
    yield Buffer.from(word.chat);
    for (;;) yield comment;
  }
  const upstream = scriptedUpstream(sse(), { ...sse(), chunks: chunks() });
  const gateway = anyModelGateway({ upstream: scriptedUpstream({ ...sse(), chunks: chunks() }) });

  const reply = await gateway.call(requests.chat);

  expect(upstream.requests).toHaveLength(0);
  expect(reply.text).not.toContain('xxx');
  expect(gateway.records[0]).toMatchObject({ outcome: 'broken', reason: 'reply_too_large' });
});
