// suite: quick
/** Content-type and content-encoding of a request body. */
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { pushable, reading } from './body-reading.ts';

describe('a body of another type', () => {
  it.each([
    undefined,
    '',
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; Charset=utf8; profile=x',
    'application/json; profile="charset"',
  ])('content-type %s is JSON', async (type) => {
    const { result } = reading(Buffer.from('{}'), { headers: { 'content-type': type } });

    expect(await result).toHaveLength(2);
  });

  it.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'application/jsonx',
    'application/json, application/json',
    'application/json; charset=utf-16',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-8; charset=utf-7',
    'application/json; charset',
  ])('content-type %s is refused', async (type) => {
    for (const body of [Buffer.from('{}'), pushable()]) {
      await expect(
        reading(body, { headers: { 'content-type': type } }).result,
      ).rejects.toMatchObject({ code: 'unsupported_media_type' });
    }
  });

  it.each([
    'gzip',
    'br',
    'deflate',
    'zstd',
    'gzip, gzip',
    'identity, gzip',
    'x',
  ])('content-encoding %s is refused unread', async (encoding) => {
    const stream = pushable();

    await expect(
      reading(stream, { headers: { 'content-encoding': encoding } }).result,
    ).rejects.toMatchObject({ code: 'unsupported_media_type' });
    expect(stream.readableFlowing).toBeNull();
  });

  it.each(['identity', 'Identity', ''])('content-encoding %o is ignored', async (encoding) => {
    const { result } = reading(Readable.from([Buffer.from('{}')]), {
      headers: { 'content-encoding': encoding },
    });

    expect(await result).toHaveLength(2);
  });
});
