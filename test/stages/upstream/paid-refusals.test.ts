// suite: quick
/** Which failures are refusals that a caller pays for, because earlier parts of its call ran. */
import { describe, expect, it } from 'vitest';
import type { CallEnding } from '../../../src/charge-policy.ts';
import { type ErrorCode, GatewayError } from '../../../src/errors.ts';
import {
  type CallFailure,
  failedSeries,
  isPaidRefusal,
} from '../../../src/stages/upstream/failure.ts';

const endings: readonly CallEnding[] = ['not_run', 'truncated', 'failed', 'left', 'left_early'];
const blamesCaller: readonly ErrorCode[] = ['invalid_request', 'body_too_large'];
const blamesOthers: readonly ErrorCode[] = ['upstream_failed', 'rate_limited', 'no_channel'];
const all = [...blamesCaller, ...blamesOthers].flatMap((code) =>
  endings.map((ending) => [code, ending] as const),
);
const usage = { inputTokens: 7, outputTokens: 0, cachedInputTokens: 0, images: 0 };

function failure(code: ErrorCode, ending: CallEnding): CallFailure {
  return {
    error: new GatewayError(code, 'No.'),
    ending,
    retry: 'never',
    healthSignal: { kind: 'neutral' },
    reason: 'upstream_refused',
  };
}

describe.each(all)('%s with the ending %s', (code, ending) => {
  const isOwnFault = blamesCaller.includes(code);

  it('is paid if the request is at fault and a part of the call ran', () => {
    expect(isPaidRefusal(failure(code, ending))).toBe(isOwnFault && ending === 'truncated');
  });

  it('is paid after earlier replies of a series, and only there', () => {
    const series = { isSplit: true, used: () => usage, sent: () => usage };
    const first = { ...series, used: () => undefined };

    expect(isPaidRefusal(failedSeries(failure(code, ending), series))).toBe(isOwnFault);
    expect(isPaidRefusal(failedSeries(failure(code, ending), first))).toBe(false);
  });
});
