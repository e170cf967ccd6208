// suite: quick
/** The loader of the Responses fixtures finds every exchange, with its bytes. */
import { describe, expect, it } from 'vitest';
import { responsesFixture, responsesFixtures } from './responses-fixtures.ts';

describe('fixtures of the Responses API', () => {
  it('are 139 exchanges, each with a request or a response', () => {
    const all = responsesFixtures();

    expect(all).toHaveLength(139);
    expect(all.filter(({ request, response }) => !(request ?? response)?.length)).toEqual([]);
  });

  it('can be limited to categories', () => {
    const some = responsesFixtures('clients', 'synthetic');

    expect(new Set(some.map(({ category }) => category))).toEqual(
      new Set(['clients', 'synthetic']),
    );
  });

  it('have the bytes, and whether the reply was streamed', () => {
    const { request, response, ...rest } = responsesFixture('openai/stream-tools.1');

    expect(rest).toMatchObject({ category: 'openai', status: 200, streamed: true });
    expect(Buffer.from(request ?? []).toString()).toContain('"input"');
    expect(Buffer.from(response ?? []).toString()).toContain('event: response.created');
  });

  it('throw for a name that is not in the index', () => {
    expect(() => responsesFixture('openai/no-such')).toThrow('no fixture named');
  });
});
