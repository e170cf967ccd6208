// suite: quick
/** The fixture loader finds every recording, with its bytes. */
import { describe, expect, it } from 'vitest';
import { fixture, fixtures } from './fixtures.ts';

describe('fixtures', () => {
  it('are 292 recordings with a response each', () => {
    const all = fixtures();

    expect(all).toHaveLength(292);
    expect(all.filter(({ response }) => response.length === 0)).toEqual([]);
  });

  it('can be limited to one category', () => {
    const images = fixtures('openai-images');

    expect(images.map(({ category }) => category)).toEqual(Array(7).fill('openai-images'));
  });

  it('have the bytes, the status and whether the reply was streamed', () => {
    const { request, response, ...rest } = fixture('openai-chat/stream-usage.1');

    expect(rest).toMatchObject({ category: 'openai-chat', status: 200, streamed: true });
    expect(Buffer.from(request ?? []).toString()).toContain('"include_usage"');
    expect(Buffer.from(response).toString()).toMatch(/^data: \{/);
  });

  it('have the headers that the source kept', () => {
    expect(fixture('messages/err-401.1').headers).toEqual({
      'content-type': 'application/json',
      'x-should-retry': 'false',
    });
    expect(fixture('messages/err-401.1').requestHeaders).toHaveProperty('anthropic-version');
    expect(fixture('openai-chat/stream-usage.1').headers).toEqual({});
  });

  it('throw for a name that is not in the index', () => {
    expect(() => fixture('openai-chat/no-such')).toThrow('no fixture named');
  });
});
