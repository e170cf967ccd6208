// suite: search
/**
 * Accounts that refuse their calls: each is left alone for as long as docs/channels.md says, and
 * while all are, callers get 503 immediately, with the time until the first one is back.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { gatewayInProcess, untouched } from '../../support/gateway-in-process.ts';
import { channel, model, sampleRequests } from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';

const minuteMs = 60_000;

/** How many calls in a row get a refusal, and how long the account is left alone then. */
const refusals = {
  'invalid key': { status: 401, message: 'Bad key.', calls: 1, outMs: Number.POSITIVE_INFINITY },
  'out of credit': {
    status: 402,
    message: 'Insufficient credits.',
    calls: 1,
    outMs: 60 * minuteMs,
  },
  'blamed account': {
    status: 403,
    message: 'This API key was revoked.',
    calls: 1,
    outMs: 10 * minuteMs,
  },
  // The first one may be about the request, so that another call tries it.
  unknown: { status: 403, message: 'Forbidden.', calls: 2, outMs: minuteMs },
} as const;
type Refusal = keyof typeof refusals;
const kinds: readonly Refusal[] = ['invalid key', 'out of credit', 'blamed account', 'unknown'];

it('that are rate limited give the caller the shortest of their waits', async () => {
  const wait = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 3_600 }));
  const other = fc.constantFrom(401, 402, 500);
  const answers = fc.array(fc.oneof({ weight: 3, arbitrary: wait.map(limited) }, other), {
    minLength: 1,
    maxLength: 3,
  });
  await fc.assert(
    fc.asyncProperty(answers, async (given) => {
      const running = gatewayInProcess({
        models: [model({ channels: given.map((_, index) => channel({ id: `${index}` })) })],
        handlers: given.map((answer) => (up) => {
          if (typeof answer === 'number') up.answer(answer, {});
          else up.answer(429, {}, { 'retry-after': String(answer.seconds) });
        }),
      });
      const { status, headers } = await running.call(sampleRequests.chat);
      const { attempts } = await running.nextRecord();

      const tried = given.slice(0, attempts.length);
      const waits = tried.flatMap((answer) => (typeof answer === 'number' ? [] : answer.seconds));
      if (waits.length === 0 || tried.at(-1) === 500) return;
      expect(status).toBe(429);
      expect(headers['retry-after']).toBe(String(Math.min(...waits)));
    }),
    { numRuns: runsOf(300) },
  );
});

function limited(seconds: number): { readonly seconds: number } {
  return { seconds };
}

const plans = fc.record({
  accounts: fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 4 }),
  /** The time before each call. */
  waits: fc.array(fc.constantFrom(0, 1_000, 20_000, minuteMs, 11 * minuteMs), {
    minLength: 12,
    maxLength: 20,
  }),
});

function refusing(kind: Refusal): CallHandler {
  const { status, message } = refusals[kind];
  return (up) => up.answer(status, { error: { message } });
}

it('are left alone, and callers get 503 with the wait while all are', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async ({ accounts, waits }) => {
      const running = gatewayInProcess({
        models: [
          model({
            channels: accounts.map((_, index) =>
              channel({ id: `${index}`, baseUrl: `https://${index}.example/v1` }),
            ),
          }),
        ],
        handlers: Array<CallHandler>(200).fill((up) => {
          const kind = accounts[Number.parseInt(new URL(up.request.origin).hostname, 10)];
          refusing(kind ?? 'unknown')(up);
        }),
      });
      const refused = accounts.map((kind) => ({ kind, calls: 0, outUntilMs: 0 }));
      for (const waitMs of waits) {
        running.clock.advance(waitMs);
        const nowMs = running.clock.now();
        const isOut = refused.map(({ outUntilMs }) => nowMs < outUntilMs);
        const { status, text, headers } = await running.call(sampleRequests.chat);
        const { attempts } = await running.nextRecord();
        for (const { channelId } of attempts) {
          const account = refused[Number(channelId)];
          if (account === undefined) throw new Error(channelId);
          expect(isOut[Number(channelId)], `${account.kind} is left alone`).toBe(false);
          account.calls += 1;
          const { calls, outMs } = refusals[account.kind];
          if (account.calls >= calls) account.outUntilMs = nowMs + outMs;
        }
        if (isOut.includes(false)) expect(attempts.length).toBeGreaterThan(0);
        expect(status).toBe(attempts.length > 0 ? 502 : 503);
        if (attempts.length > 0) continue;
        expect(text).toContain('No available Acme accounts');
        const waitedMs = Math.min(...refused.map(({ outUntilMs }) => outUntilMs)) - nowMs;
        // An account without a time to come back needs its operator.
        const isKnown = Number.isFinite(waitedMs);
        const seconds = isKnown ? String(Math.ceil(waitedMs / 1_000)) : undefined;
        expect(headers['retry-after']).toBe(seconds);
        if (!isKnown) expect(headers['x-should-retry']).toBe('false');
      }
      expect(await running.state()).toEqual(untouched);
    }),
    { numRuns: runsOf(500) },
  );
});
