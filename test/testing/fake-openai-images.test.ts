// suite: slow host
/** The images of the fake OpenAI, which are decoded here. */
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { decodePng, post } from './helpers.ts';

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

  it('refuses response_format for gpt-image models', async () => {
    const call = openai.images.generate({
      model: 'gpt-image-1',
      prompt: 'a cat',
      response_format: 'b64_json',
    });

    await expect(call).rejects.toMatchObject({
      status: 400,
      param: 'response_format',
      message: "400 Unknown parameter: 'response_format'.",
    });
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

  it('returns n MiB of Base64 per image for image-<n>mb', async () => {
    const reply = await openai.images.generate({ model: 'image-2mb', prompt: 'a cat', n: 2 });

    const base64 = reply.data?.[1]?.b64_json ?? '';
    expect(base64).toHaveLength(2 * 1024 * 1024);
    expect(decodePng(base64)).toEqual({ width: 64, height: 64 });
  });

  it('stops a large image when the caller disconnects', async () => {
    const response = await post(upstream, '/v1/images/generations', {
      model: 'image-512mb',
      prompt: 'x',
    });
    const call = await upstream.nextCall();
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();

    expect(await call.closed).toBe('aborted');
  });

  it.each([{ n: 11 }, { n: 0 }, { size: 'huge' }])('refuses %j with 400', async (wrong) => {
    const response = await post(upstream, '/v1/images/generations', {
      model: 'gpt-image-1',
      prompt: 'a cat',
      ...wrong,
    });

    expect(response.status).toBe(400);
  });
});
