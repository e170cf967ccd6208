// suite: slow
/** Data URLs and media types. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dataUrl, mediaKindOf, mimeTypeOfName, parseDataUrl } from '../../src/canonical/media.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../src/json.ts';
import { fixtures } from '../support/recorded/fixtures.ts';

describe('a data URL', () => {
  it('gives its type in lower case and its data', () => {
    const parsed = parseDataUrl('DATA:Image/PNG;base64,iVBORw0KGgo=');

    expect(parsed).toEqual({ mimeType: 'image/png', data: 'iVBORw0KGgo=' });
  });

  it('loses the parameters of its type', () => {
    const parsed = parseDataUrl('data:text/plain;charset=utf-8 ; BASE64,aGk=');

    expect(parsed).toEqual({ mimeType: 'text/plain', data: 'aGk=' });
  });

  it('may be percent-encoded in place of Base64', () => {
    const parsed = parseDataUrl('data:text/plain,Gr%C3%BC%C3%9Fe%2C%20ü%20100%');

    expect(parsed).toEqual({ mimeType: 'text/plain', data: base64('Grüße, ü 100%') });
  });

  it('may have percent-encoded bytes that are not text', () => {
    const parsed = parseDataUrl('data:,%89PNG%0D%0A%1a%0a');

    expect(parsed).toEqual({ mimeType: 'image/png', data: 'iVBORw0KGgo=' });
  });

  it('is text if it is percent-encoded and has no type (RFC 2397)', () => {
    expect(parseDataUrl('data:,hi')).toEqual({ mimeType: 'text/plain', data: base64('hi') });
  });

  it.each([
    ['white space', 'data:image/png;base64, iVBO\r\n\tRw0K Ggo=\n'],
    ['percent signs', 'data:image/png;base64,iVBORw0KGgo%3D'],
    ['no padding', 'data:image/png;base64,iVBORw0KGgo'],
  ])('is cleaned of %s', (_, url) => {
    expect(parseDataUrl(url)?.data).toBe('iVBORw0KGgo=');
  });

  it.each([
    ['/-8', '/+8='],
    ['_-8', '/+8='],
    ['_-8=', '/+8='],
    ['AA==', 'AA=='],
    ['AA=', 'AA=='],
    ['AAA', 'AAA='],
    ['', ''],
  ])('has %j in the standard alphabet, with padding', (data, clean) => {
    expect(parseDataUrl(`data:image/png;base64,${data}`)?.data).toBe(clean);
  });

  it.each([
    'data:image/png;base64,a',
    'data:image/png;base64,ab=c',
    'data:image/png;base64,abcd===',
    'data:image/png;base64,a*b(',
    'data:image/png;base64',
    'https://example.com/a,b.png',
    '',
  ])('is rejected: %s', (url) => {
    expect(parseDataUrl(url)).toBeUndefined();
  });

  it.each([
    ['image/png', '\x89PNG\r\n\x1a\n'],
    ['image/jpeg', '\xff\xd8\xff\xe0'],
    ['image/gif', 'GIF89a'],
    ['image/webp', 'RIFF\x24\x00\x00\x00WEBPVP8 '],
    ['audio/wav', 'RIFF\x24\x0a\x00\x00WAVEfmt '],
    ['application/pdf', '%PDF-1.7'],
    ['audio/mp3', 'ID3\x04'],
    ['audio/mp3', '\xff\xfb\x90'],
    [undefined, 'anything'],
  ])('without a type is %s by its first bytes', (mimeType, bytes) => {
    const data = Buffer.from(bytes, 'latin1').toString('base64');

    expect(parseDataUrl(`data:;base64,${data}`)).toEqual({ mimeType, data });
    expect(parseDataUrl(`data:image;base64,${data}`)).toEqual({ mimeType, data });
  });

  it('is read back unchanged, for any bytes', () => {
    const law = fc.property(fc.uint8Array({ minLength: 0 }), (bytes) => {
      const data = Buffer.from(bytes).toString('base64');

      expect(parseDataUrl(dataUrl('image/webp', data))).toEqual({ mimeType: 'image/webp', data });
    });

    fc.assert(law);
  });

  it('never throws', () => {
    const law = fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (text, isBase64) => {
      const parsed = parseDataUrl(`data:${isBase64 ? ';base64' : ''},${text}`);

      expect(parsed?.data ?? '').toMatch(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3}={1,2})?$/);
    });

    fc.assert(law, { numRuns: 1000 });
  });

  it('without a known type is written without one', () => {
    expect(dataUrl(undefined, 'AA==')).toBe('data:;base64,AA==');
  });
});

describe('the media type by a name', () => {
  it.each([
    ['photo.JPG', 'image/jpeg'],
    ['report #3.pdf', 'application/pdf'],
    ['https://example.com/a/b.webp?size=1.png#x.gif', 'image/webp'],
    ['gs://bucket/clip.mp4', 'video/mp4'],
    ['https://generativelanguage.googleapis.com/v1beta/files/abc', undefined],
    ['https://example.md', undefined],
    ['https://example.md/?a=b.png', undefined],
    ['README', undefined],
    ['a.constructor', undefined],
    ['archive.zzz', undefined],
    ['', undefined],
  ])('%j is %s', (name, mimeType) => {
    expect(mimeTypeOfName(name)).toBe(mimeType);
  });

  it.each([
    ['image/png', 'image'],
    ['AUDIO/wav', 'audio'],
    ['video/mp4', 'video'],
    ['application/pdf', 'document'],
    ['text/plain', 'document'],
    ['image', 'image'],
    ['imagery/x', 'document'],
    [undefined, 'document'],
  ])('%s is a kind of %s', (mimeType, kind) => {
    expect(mediaKindOf(mimeType)).toBe(kind);
  });
});

describe('the recorded media', () => {
  const recorded = inlineData();

  it('has bytes of the type that its sender states', () => {
    const reported = recorded.map(({ mimeType, data }) => [
      mimeType,
      parseDataUrl(dataUrl(undefined, data))?.mimeType,
    ]);

    expect(reported.length).toBeGreaterThan(2);
    expect(reported.filter(([, seen]) => seen !== undefined).length).toBeGreaterThan(0);
    for (const [text, seen] of reported) expect([text, undefined]).toContain(seen);
  });

  it('goes through a data URL unchanged', () => {
    for (const { mimeType, data } of recorded) {
      const parsed = parseDataUrl(dataUrl(mimeType, data));

      expect(Buffer.from(parsed?.data ?? '', 'base64')).toEqual(Buffer.from(data, 'base64'));
    }
  });
});

interface Inline {
  readonly mimeType: string;
  readonly data: string;
}

function inlineData(): readonly Inline[] {
  const bodies = fixtures('gemini').flatMap(({ request }) =>
    request === undefined ? [] : [parseJson(Buffer.from(request).toString()) ?? null],
  );
  return bodies.flatMap(inlineIn);
}

function inlineIn(value: JsonValue): readonly Inline[] {
  if (!isJsonObject(value)) return items(value).flatMap(inlineIn);
  const mimeType = member(value, 'mimeType') ?? member(value, 'mime_type');
  const data = member(value, 'data');
  if (typeof mimeType === 'string' && typeof data === 'string') return [{ mimeType, data }];
  return Object.values(value).flatMap(inlineIn);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
