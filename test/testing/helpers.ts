/** What the tests of the fake upstream share: plain requests, whole streams, and a PNG reader. */
import { inflateSync } from 'node:zlib';
import type OpenAI from 'openai';
import { expect } from 'vitest';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';

/** The smallest chat request. */
export const hello: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello!' }];

/** A tool whose arguments have a schema. */
export const weatherTool: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['c', 'f'] } },
      required: ['city', 'unit'],
    },
  },
};

/** Reads a stream to its end. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

/** Posts JSON by plain fetch, for what SDKs do not show. */
export function post(
  upstream: FakeUpstream,
  path: string,
  body: unknown,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(`${upstream.origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...init,
  });
}

/** Reads a PNG by hand: signature, every CRC, and pixels that inflate to just their size. */
export function decodePng(base64: string): { readonly width: number; readonly height: number } {
  const bytes = Buffer.from(base64, 'base64');
  expect(bytes.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');

  const data: Buffer[] = [];
  let size = { width: 0, height: 0 };
  for (let at = 8, type = ''; type !== 'IEND'; at += bytes.readUInt32BE(at) + 12) {
    const end = at + 8 + bytes.readUInt32BE(at);
    type = bytes.toString('latin1', at + 4, at + 8);
    expect(bytes.readUInt32BE(end)).toBe(crc(bytes.subarray(at + 4, end)));
    if (type === 'IHDR') {
      size = { width: bytes.readUInt32BE(at + 8), height: bytes.readUInt32BE(at + 12) };
    }
    if (type === 'IDAT') data.push(bytes.subarray(at + 8, end));
  }
  expect(inflateSync(Buffer.concat(data))).toHaveLength((size.width * 3 + 1) * size.height);
  return size;
}

/** CRC-32 bit by bit (W3C PNG §D), so that the check owes nothing to the code it checks. */
function crc(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}
