/** Only events of its dialect reach the caller of a relayed stream, whatever the upstream sends. */
import { describe, expect, it } from 'vitest';
import { chat, native, testGateway } from '../support/call-gateway.ts';
import { type Played, playedUpstream } from '../support/played-upstream.ts';
import { bytewise, sse } from './streams.ts';

const canary = 'sk-canary-0123456789';
const word = {
  chat: 'data: {"choices":[{"index":0,"delta":{"content":"Once"}}]}\n\n',
  native: 'data: {"candidates":[{"content":{"parts":[{"text":"Once"}]}}]}\r\n\r\n',
  array: '[{"candidates":[{"content":{"parts":[{"text":"Once"}]}}]}\n',
};
const asked = { chat: chat(), native: native(), array: native('json_array') };

/** Text that an upstream, or a proxy in front of it, may send outside its wire format. */
const rubbish: readonly string[] = [
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

describe.each(['chat', 'native'] as const)('a relayed %s stream', (door) => {
  it('passes on nothing but events of its dialect, wherever the rest comes', async () => {
    for (const said of rubbish) {
      for (const text of [said, said + word[door], word[door] + said, word[door] + said.trim()]) {
        for (const chunks of [[text], bytewise(Buffer.from(text))]) {
          const upstream = playedUpstream(sse(...chunks));
          const { text: answer } = await testGateway({ upstream }).call(asked[door]);
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
    const end = door === 'chat' ? 'data: [DONE]\n\n' : '';
    const last = word[door].replace('"Once"', '"."').replace(/(\]?\}\]\})/, '$1');
    const text = `${word[door]}${last}${end}`;
    const headers = type === undefined ? {} : { 'content-type': type };
    for (const chunks of [[text], bytewise(Buffer.from(text)), ['\n', text]]) {
      const played: Played = { headers, chunks };
      const answer = await testGateway({ upstream: playedUpstream(played) }).call(asked[door]);
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toContain('text/event-stream');
      expect(answer.text).toContain('Once');
    }
  });
});

it('a relayed array passes on only elements that are parts of a reply', async () => {
  for (const said of [
    `"${canary}"`,
    `{"message":"${canary}"}`,
    `["${canary}"]`,
    `{"x":"${canary}"}`,
  ]) {
    for (const text of [`[${said}]`, `${word.array},${said}]`, `${word.array},${said}`]) {
      const upstream = playedUpstream(sse(text));
      const { text: answer } = await testGateway({ upstream }).call(asked.array);
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
  const upstream = playedUpstream(sse(), { ...sse(), chunks: chunks() });
  const gateway = testGateway({ upstream: playedUpstream({ ...sse(), chunks: chunks() }) });

  const answer = await gateway.call(asked.chat);

  expect(upstream.requests).toHaveLength(0);
  expect(answer.text).not.toContain('xxx');
  expect(gateway.records[0]).toMatchObject({ outcome: 'broken', reason: 'reply_too_large' });
});
