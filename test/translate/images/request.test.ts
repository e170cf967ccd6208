// suite: quick
/** Image requests are converted for Google’s image models. */
import { describe, expect, it } from 'vitest';
import { capabilitiesOf } from '../../../src/dialects/capabilities.ts';
import { geminiCapabilities } from '../../../src/dialects/gemini/dialect.ts';
import { geminiImages } from '../../../src/dialects/gemini/image/codec.ts';
import { readImageRequest } from '../../../src/dialects/openai/image-request.ts';
import type { JsonObject } from '../../../src/json.ts';
import { fixture } from '../../support/recorded/fixtures.ts';

/** The body sent to Google, and the dropped names. */
function written(fields: JsonObject, upstreamModel = 'gemini-3-pro-image') {
  const request = readImageRequest({ model: 'pictures', prompt: 'A cat.', ...fields });
  const { body, dropped } = geminiImages.begin(request, {
    upstreamModel,
    capabilities: capabilitiesOf(geminiCapabilities, upstreamModel, undefined),
    maxOutputTokens: undefined,
    ids: () => 'id',
  });
  return { body: JSON.parse(body), dropped };
}

const imageConfig = (fields: JsonObject, upstreamModel?: string) =>
  written(fields, upstreamModel).body.generationConfig.imageConfig;

describe('an image request to Google', () => {
  it('equals a recorded request', () => {
    const recorded = JSON.parse(
      Buffer.from(fixture('gemini/image-out.1').request ?? []).toString('utf8'),
    );

    const { body, dropped } = written({ prompt: 'Generate an image of an axolotl.' });

    expect(body.contents).toEqual(recorded.contents);
    expect(body.generationConfig).toEqual({
      responseModalities: recorded.generationConfig.responseModalities,
    });
    expect(dropped).toEqual([]);
  });

  it.each([
    ['1024x1024', '1:1', '1K'],
    ['256x256', '1:1', '1K'],
    ['1536x1024', '3:2', '2K'],
    ['1024x1536', '2:3', '2K'],
    ['1792x1024', '16:9', '2K'],
    ['1024x1792', '9:16', '2K'],
    ['1184x864', '4:3', '2K'],
    ['896x1152', '4:5', '2K'],
    ['1536x672', '21:9', '2K'],
    ['2048x2048', '1:1', '2K'],
    ['3840x2160', '16:9', '4K'],
  ])('sends %s as %s and %s', (size, aspectRatio, imageSize) => {
    expect(imageConfig({ size })).toEqual({ aspectRatio, imageSize });
  });

  it.each([
    'gemini-2.5-flash-image',
    'models/gemini-2.5-flash-image',
    'gemini-3.1-flash-lite-image',
  ])('sends only the ratio to %s, which has one size class', (model) => {
    expect(imageConfig({ size: '1024x1536' }, model)).toEqual({ aspectRatio: '2:3' });
  });

  it.each([
    {},
    { size: 'auto' },
    { size: null },
  ])('leaves the size to the model for %j', (fields) => {
    expect(written(fields)).toMatchObject({ dropped: [] });
    expect(imageConfig(fields)).toBeUndefined();
  });

  it('reports a size that will differ in pixels', () => {
    expect(written({ size: '1536x1024' }).dropped).toEqual(['size']);
    expect(written({ size: '2048x2048' }, 'gemini-2.5-flash-image').dropped).toEqual(['size']);
    expect(written({ size: '1024x1024' }, 'gemini-2.5-flash-image').dropped).toEqual([]);
    expect(written({ size: '4096x4096' }).dropped).toEqual([]);
  });

  it('reports members that Google does not support, and no others', () => {
    const { dropped } = written({
      quality: 'high',
      user: 'someone',
      output_compression: 80,
      moderation: 'low',
      style: 'vivid',
      partial_images: null,
      something_new: { deep: true },
    });

    expect(dropped).toEqual([
      'quality',
      'user',
      'output_compression',
      'moderation',
      'style',
      'something_new',
    ]);
  });

  it('accepts members with default values', () => {
    const { body, dropped } = written({
      n: 1,
      quality: 'auto',
      background: 'opaque',
      output_format: 'png',
      response_format: 'b64_json',
      stream: false,
    });

    expect(body).toEqual(written({}).body);
    expect(dropped).toEqual([]);
  });

  it.each([
    [{ n: 2 }, 'n'],
    [{ size: '3000x1000' }, 'size'],
    [{ size: '0x0' }, 'size'],
    [{ size: '0x1024' }, 'size'],
    [{ size: 'large' }, 'size'],
    [{ background: 'transparent' }, 'background'],
    [{ output_format: 'webp' }, 'output_format'],
  ])('refuses %j with its name', (fields, param) => {
    expect(() => written(fields)).toThrow(expect.objectContaining({ code: 'not_portable', param }));
  });

  it.each([
    [{ prompt: 7 }, 'prompt'],
    [{ prompt: null }, 'prompt'],
    [{ n: 1.5 }, 'n'],
    [{ n: 0 }, 'n'],
    [{ size: 1024 }, 'size'],
    [{ background: [] }, 'background'],
  ])('refuses %j as invalid', (fields, param) => {
    expect(() => written(fields)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });
});
