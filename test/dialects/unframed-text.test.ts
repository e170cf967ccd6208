// suite: quick
/** Unframed text of a stream is kept whole only if it may be a document. */
import { expect, it } from 'vitest';
import { unframedText } from '../../src/dialects/taps/unframed-text.ts';
import { anyModelGateway, chat, native } from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';

const limit = 65_536;

it.each(['<html>', 'x', '"a"', ' \n\t-'])('keeps 64 KiB of text that begins with %j', (begins) => {
  for (const pieces of [[begins.padEnd(1_000_000, 'é')], [begins, ...Array(100_000).fill('é\n')]]) {
    const text = unframedText();
    for (const piece of pieces) text.add(piece);

    expect(text.byteLength()).toBe(limit);
    expect(text.take().startsWith(begins)).toBe(true);
  }
});

it.each(['{', '[', '\n {'])('keeps all of a text that begins with %j', (begins) => {
  const text = unframedText();
  const pieces = [...begins, ...Array.from({ length: 100_000 }, (_, index) => `${index}\n`)];
  for (const piece of pieces) text.add(piece);

  expect(text.take()).toBe(pieces.join(''));
});

const calls = [
  ['openai', chat()],
  ['gemini', native()],
  ['anthropic', chat()],
  ['gemini', chat()],
] as const;

it.each(calls)('an endless text instead of events is a bad reply: %s', async (dialect, request) => {
  const chunks = Array.from({ length: 40 }, () => `${'no event '.repeat(1_000)}\n\n`);
  const headers = { 'content-type': 'text/event-stream' };
  const upstream = scriptedUpstream({ headers, chunks: [...chunks, 'data'] });
  const gateway = anyModelGateway({ upstream, channel: { dialect } });

  const { status } = await gateway.call(request);

  expect(status).toBe(502);
  expect(gateway.records[0]).toMatchObject({ chargeNanos: 0n });
});
