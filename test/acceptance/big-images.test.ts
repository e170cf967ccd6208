// suite: alone
/**
 * Eight concurrent images of 48 MB are forwarded in bounded memory, and no turn of the event loop
 * handles as much as one of them. Durations depend on the machine; `npm run bench` measures the CPU
 * per image.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { childScript } from '../support/child-script.ts';
import { upstreamSecret } from '../support/mounted-gateway.ts';

const mebibyte = 1024 * 1024;
const started = z.object({ origin: z.string(), secret: z.string() });
const measured = z.object({ peakRssBytes: z.number(), mostBytesInTurn: z.number() });

let upstream: FakeUpstream;
let child: ChildProcess;
let gateway: z.infer<typeof started>;

beforeEach(async () => {
  const script = await childScript(join(import.meta.dirname, 'big-images-gateway.ts'));
  upstream = await startStrictUpstream();
  child = fork(script, [upstream.openaiBaseUrl, upstream.geminiBaseUrl, upstreamSecret]);
  const [hello] = await once(child, 'message');
  gateway = started.parse(hello);
});

afterEach(async () => {
  const exited = once(child, 'exit');
  child.disconnect();
  await exited;
  await upstream.close();
});

it.each([
  ['relayed', 'image-48mb'],
  ['translated from Gemini', 'gemini-image-48mb'],
])('8 × 48 MB, %s, stay under 250 MB and pass in pieces, turn by turn', async (_way, model) => {
  const images = await Promise.all(Array.from({ length: 8 }, () => download(gateway, model)));
  child.send('measure');
  const [answer] = await once(child, 'message');
  const { peakRssBytes, mostBytesInTurn } = measured.parse(answer);

  for (const { head, tail, bytes } of images) {
    const [before = ''] =
      /^\{"created":\d+,"data":\[\{"b64_json":"(?=iVBORw0KGgo)/.exec(head) ?? [];
    const [after = ''] = /"\}\],"usage":\{[^"]*"input_tokens":.*\}\}$/.exec(tail) ?? [];
    expect([before, after]).not.toContain('');
    expect(bytes - before.length - after.length).toBe(48 * mebibyte);
  }
  expect(peakRssBytes / mebibyte).toBeLessThan(250);
  expect(mostBytesInTurn).toBeGreaterThan(0);
  // The held beginnings, 2 MiB of each reply, may be sent together; a whole image may not.
  expect(mostBytesInTurn / mebibyte).toBeLessThan(32);
});

interface Download {
  readonly head: string;
  readonly tail: string;
  readonly bytes: number;
}

/** Reads an image without keeping it, like a caller that writes it to a file. */
async function download({ origin, secret }: typeof gateway, model: string): Promise<Download> {
  const sent = request(`${origin}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
  });
  sent.end(JSON.stringify({ model, prompt: 'A very large cat.' }));
  const [response] = await once(sent, 'response');

  let head = '';
  let tail = '';
  let bytes = 0;
  for await (const chunk of response) {
    const text = Buffer.from(chunk).toString('latin1');
    if (head.length < 1_000) head += text;
    tail = (tail + text).slice(-1_000);
    bytes += text.length;
  }
  return { head, tail, bytes };
}
