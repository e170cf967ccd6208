// suite: quick
/** What remains of rate limits, in the headers of responses. */
import { describe, expect, it } from 'vitest';
import type { KeyRateLimits } from '../../../src/ports/limits/rates.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { type CallerReply, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { completeReply, type Kind, kinds, sampleRequests } from '../../support/models.ts';
import { limitedGateway, rateHeadersOf } from './rate-limited.ts';

describe('the headers of a reply', () => {
  it('have the limits that are nearest to refusing, as OpenAI writes them', async () => {
    const { call, clock } = limitedGateway([
      { calls: { perMinute: 60, perHour: 1_000 }, tokens: { perMinute: 60_000, perDay: 86_400 } },
      { model: 'chat', calls: { perHour: 100 }, tokens: { perMinute: 5_000 } },
      { subject: 'group', calls: { perMinute: 5 } },
    ]);

    const first = await call(sampleRequests.chat);
    clock.advance(500);
    const second = await call(sampleRequests.chat);

    expect(rateHeadersOf(first)).toEqual({
      'limit-requests': '60',
      'remaining-requests': '59',
      'reset-requests': '1s',
      'limit-tokens': '5000',
      'remaining-tokens': '4889',
      'reset-tokens': '1.332s',
    });
    expect(rateHeadersOf(second)['remaining-requests']).toBe('58');
  });

  it.each([
    [{ perDay: 100_000 }, '864ms'],
    [{ perMinute: 60 }, '1s'],
    [{ perHour: 10 }, '6m0s'],
    [{ perDay: 16 }, '1h30m0s'],
    [{ perMinute: 7 }, '8.572s'],
  ])('say when a limit of %o is unused', async (calls, reset) => {
    const { call } = limitedGateway([{ calls }]);

    const reply = await call(sampleRequests.chat);

    expect(rateHeadersOf(reply)['reset-requests']).toBe(reset);
  });

  it.each([...kinds])('are those of the gateway, never the upstream’s: %s', async (kind) => {
    const upstreamHeaders = {
      'content-type': kind.endsWith('Stream') ? 'text/event-stream' : 'application/json',
      'x-ratelimit-limit-requests': 'upstream',
      'x-ratelimit-remaining-tokens': 'upstream',
      'anthropic-ratelimit-tokens-remaining': 'upstream',
    };
    const answering = (of: Kind): readonly CallHandler[] => [
      (up) =>
        completeReply(of)({
          ...up,
          answer: (status, body) => up.answer(status, body, upstreamHeaders),
        }),
    ];
    const reply = async (rates: readonly KeyRateLimits[]): Promise<CallerReply> =>
      gatewayInProcess({ handlers: answering(kind), key: { rates } }).call(sampleRequests[kind]);
    const limited = await reply([{ calls: { perMinute: 9 } }]);
    const unlimited = await reply([]);

    expect([limited.status, unlimited.status]).toEqual([200, 200]);
    expect(rateHeadersOf(unlimited)).toEqual({});
    // Gemini has no headers for rates.
    const own = kind.startsWith('native') ? undefined : '8';
    expect(rateHeadersOf(limited)['remaining-requests']).toBe(own);
    expect(JSON.stringify([limited.headers, unlimited.headers])).not.toContain('upstream');
  });

  it('are on errors too, once the limits were asked for', async () => {
    const { call } = limitedGateway([{ calls: { perMinute: 9 }, tokens: { perMinute: 1_000 } }]);

    const invalid = await call({ path: '/v1/chat/completions', body: '{' });
    const unknown = await call({ path: '/v1/nothing' });

    expect(invalid.status).toBe(400);
    expect(rateHeadersOf(invalid)).toMatchObject({ 'remaining-requests': '8' });
    expect(rateHeadersOf(unknown)).toEqual({});
  });

  it('have Anthropic’s form for its clients', async () => {
    const { call } = limitedGateway([{ calls: { perHour: 10 } }], {
      options: { ownerRoutes: true },
    });
    const request = { method: 'GET', path: '/v1/key', headers: { 'anthropic-version': '1' } };

    const { status, headers } = await call(request);

    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'anthropic-ratelimit-requests-limit': '10',
      'anthropic-ratelimit-requests-remaining': '9',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:06:00.000Z',
    });
    expect(JSON.stringify(headers)).not.toContain('x-ratelimit');
  });
});
