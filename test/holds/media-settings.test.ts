// suite: quick
/**
 * Settings that make media cost more tokens raise the hold: the frame rate of a video, a higher
 * resolution, in every place and spelling in which a server may read them.
 */
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body/body.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import { routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { readCall } from '../../src/stages/read-call.ts';
import { holdFor } from '../../src/stages/settle/hold.ts';
import { model } from '../support/models.ts';
import { routeSettings } from '../support/route-settings.ts';

const usual = { image: 10_000, audio: 10_000, video: 10_000, document: 10_000, reference: 100_000 };
const priced = model({ mediaPartTokens: usual, contextTokens: 2_000_000 });
/** More than the text of any of these requests. */
const text = 1_000;

function mediaTokens(path: string, body: JsonObject): number {
  const request = { method: 'POST', path, search: '', headers: {} };
  const route = routesOf(protocols).find(request, routeSettings);
  if (route.kind !== 'call') throw new Error(`${path} is no call`);
  const call = readCall(wholeBody(Buffer.from(JSON.stringify(body))), route, routeSettings);
  return holdFor(call, priced).inputTokens;
}

function native(part: JsonObject, members: JsonObject = {}): number {
  return mediaTokens('/v1beta/models/m:generateContent', {
    contents: [{ parts: [part] }],
    ...members,
  });
}

function chat(part: JsonObject, members: JsonObject = {}): number {
  const messages = [{ role: 'user', content: [part] }];
  return mediaTokens('/v1/chat/completions', { model: 'm', messages, ...members });
}

const blob = (mimeType: string): JsonObject => ({ inlineData: { mimeType, data: 'AAAA' } });
const video = blob('video/mp4');
const stored = { fileData: { fileUri: 'files/a', mimeType: 'video/mp4' } };

describe('the frame rate of a video', () => {
  it.each<[part: JsonObject, rate: number]>([
    [{ videoMetadata: { fps: 24 } }, 24],
    [{ video_metadata: { fps: 2.5 } }, 2.5],
    [{ videoMetadata: { fps: '24' } }, 24],
    [{ videoMetadata: { fps: 1e1 } }, 10],
    [{ videoMetadata: { fps: 2 }, video_metadata: { fps: 24 } }, 48],
    [{ videoMetadata: { startOffset: '1s', fps: 0.5 } }, 1],
    [{ videoMetadata: { fps: null } }, 1],
  ])('multiplies its tokens: %j', (settings, rate) => {
    const expected = usual.video * rate;

    expect(native({ ...video, ...settings })).toBeGreaterThanOrEqual(expected);
    expect(native({ ...video, ...settings })).toBeLessThan(expected + text);
    expect(native({ ...stored, ...settings })).toBeGreaterThanOrEqual(
      Math.min(usual.reference * rate, 2_000_000),
    );
    expect(native({ ...blob('image/png'), ...settings })).toBeLessThan(usual.image + text);
  });

  it('multiplies the tokens of its bytes too', () => {
    const long = { inlineData: { mimeType: 'video/mp4', data: 'A'.repeat(1_000_000) } };

    expect(native({ ...long, videoMetadata: { fps: 10 } })).toBeGreaterThanOrEqual(500_000);
  });

  it('has no bound if it is not a number', () => {
    const settings = { videoMetadata: { fps: 'NaN' } };

    expect(native({ ...video, ...settings })).toBeGreaterThanOrEqual(usual.reference);
  });
});

const raised: readonly (readonly [mimeType: string, high: number, highest: number])[] = [
  ['image/png', 1, 2],
  ['audio/wav', 1, 1],
  ['video/mp4', 4, 8],
  ['application/pdf', 2, 4],
];

describe.each(raised)('the resolution of %s', (mimeType, high, highest) => {
  it.each<[level: JsonValue, factor: number]>([
    ['MEDIA_RESOLUTION_LOW', 1],
    ['MEDIA_RESOLUTION_MEDIUM', 1],
    ['MEDIA_RESOLUTION_UNSPECIFIED', 1],
    [2, 1],
    ['MEDIA_RESOLUTION_HIGH', high],
    ['high', high],
    [3, high],
    ['MEDIA_RESOLUTION_ULTRA_HIGH', highest],
    [4, highest],
    ['MEDIA_RESOLUTION_OF_LATER', highest],
  ])('%j multiplies its tokens by %i', (level, factor) => {
    const part = blob(mimeType);
    for (const tokens of [
      native({ ...part, mediaResolution: { level } }),
      native({ ...part, media_resolution: { level } }),
      native({ ...part, mediaResolution: level }),
      native(part, { generationConfig: { mediaResolution: level } }),
      native(part, { generation_config: { media_resolution: level } }),
    ]) {
      expect(tokens).toBeGreaterThanOrEqual(10_000 * factor);
      expect(tokens).toBeLessThan(10_000 * factor + text);
    }
  });
});

describe('in a chat', () => {
  const image = (members: JsonObject): JsonObject => ({
    type: 'image_url',
    image_url: { url: 'data:image/png;base64,AAAA', ...members },
  });
  const clip = { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } };

  it.each(['low', 'high', 'auto', null])('the detail %j costs what an image costs', (detail) => {
    expect(chat(image({ detail }))).toBeLessThan(usual.image + text);
  });

  it.each(['original', 'later', 7])('the detail %j costs four times as much', (detail) => {
    expect(chat(image({ detail }))).toBeGreaterThanOrEqual(4 * usual.image);
    expect(chat({ ...image({}), detail })).toBeGreaterThanOrEqual(4 * usual.image);
  });

  it('the frame rate multiplies the tokens of a video', () => {
    expect(chat({ ...clip, fps: 5 })).toBeGreaterThanOrEqual(5 * usual.video);
    expect(chat({ ...clip, video_url: { ...clip.video_url, fps: 5 } })).toBeGreaterThanOrEqual(
      5 * usual.video,
    );
    expect(chat(clip)).toBeLessThan(usual.video + text);
  });

  it.each([
    'max_pixels',
    'min_pixels',
    'total_pixels',
    'maxPixels',
    'num_frames',
    'max_frames',
  ])('media with %s are held like a reference, because nothing else bounds them', (name) => {
    for (const value of [8, 64, 128, '64', 10_000_000]) {
      expect(chat({ ...clip, [name]: value })).toBeGreaterThanOrEqual(usual.reference);
      expect(chat(image({ [name]: value }))).toBeGreaterThanOrEqual(usual.reference);
    }
  });

  it.each<JsonObject>([
    { mm_processor_kwargs: { fps: 24 } },
    { media_io_kwargs: { video: { num_frames: -1 } } },
    { vl_high_resolution_images: true },
    { extra_body: { vl_high_resolution_images: true } },
  ])('all media are held like a reference next to %j', (members) => {
    expect(chat(clip, members)).toBeGreaterThanOrEqual(usual.reference);
    expect(chat(image({}), members)).toBeGreaterThanOrEqual(usual.reference);
    expect(chat({ type: 'text', text: 'hi' }, members)).toBeLessThan(text);
  });

  it.each<JsonObject>([
    { mm_processor_kwargs: null },
    { mm_processor_kwargs: {} },
    { vl_high_resolution_images: false },
    { metadata: { resolution: 'x', fps: 24 } },
  ])('%j changes nothing', (members) => {
    expect(chat(clip, members)).toBeLessThan(usual.video + text);
  });
});

it('a setting is refused if nothing bounds its effect', () => {
  const { contextTokens: _context, mediaPartTokens: _media, ...bare } = priced;
  const body = {
    model: 'm',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', max_pixels: 9 } },
        ],
      },
    ],
  };
  const request = { method: 'POST', path: '/v1/chat/completions', search: '', headers: {} };
  const route = routesOf(protocols).find(request, routeSettings);
  if (route.kind !== 'call') throw new Error('no call');
  const call = readCall(wholeBody(Buffer.from(JSON.stringify(body))), route, routeSettings);

  expect(() => holdFor(call, bare)).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'messages[0].content[0]' }),
  );
});
