// suite: slow host
/** The images of the fake OpenAI, which are decoded here. */
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { decodePng } from './helpers.ts';

let upstream: FakeUpstream;
let openai: OpenAI;

beforeEach(async () => {
  upstream = await startFakeUpstream();
  openai = new OpenAI({ baseURL: upstream.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0 });
});

afterEach(() => upstream.close());

describe('as OpenAI, images', () => {
  it('returns valid images of the requested size and number', async () => {
    const reply = await openai.images.generate({
      model: 'gpt-image-1',
      prompt: 'a cat',
      n: 2,
      size: '256x256',
      quality: 'high',
    });

    expect(reply.data?.map((image) => decodePng(image.b64_json ?? ''))).toEqual([
      { width: 256, height: 256 },
      { width: 256, height: 256 },
    ]);
    expect(reply.usage?.output_tokens).toBe(8320);
  });

  it('returns a URL that can be fetched for dall-e, or Base64 on request', async () => {
    const request = { model: 'dall-e-3', prompt: 'a cat' };
    const byUrl = await openai.images.generate(request);
    const inline = await openai.images.generate({ ...request, response_format: 'b64_json' });

    const picture = await fetch(byUrl.data?.[0]?.url ?? '');
    const bytes = Buffer.from(await picture.arrayBuffer());
    expect(decodePng(bytes.toString('base64'))).toEqual({ width: 64, height: 64 });
    expect(decodePng(inline.data?.[0]?.b64_json ?? '')).toEqual({ width: 64, height: 64 });
  });
});
