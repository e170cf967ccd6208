/** Writes what remains of rate limits in the headers that each provider's clients know. */
import type { HeaderMap } from '../../http.ts';
import type { RateState, RateStates } from '../protocol.ts';

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`; a reset is `12ms`, `1.5s` or `6m0s`. */
export function openaiRateHeaders({ calls, tokens }: RateStates): HeaderMap {
  return { ...openaiHeaders('requests', calls), ...openaiHeaders('tokens', tokens) };
}

function openaiHeaders(counted: 'requests' | 'tokens', state: RateState | undefined): HeaderMap {
  if (state === undefined) return {};
  return {
    [`x-ratelimit-limit-${counted}`]: String(state.limit),
    [`x-ratelimit-remaining-${counted}`]: String(state.remaining),
    [`x-ratelimit-reset-${counted}`]: durationText(state.resetMs),
  };
}

/** `anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}`; a reset is a RFC 3339 date. */
export function anthropicRateHeaders({ calls, tokens }: RateStates, nowMs: number): HeaderMap {
  return {
    ...anthropicHeaders('requests', calls, nowMs),
    ...anthropicHeaders('tokens', tokens, nowMs),
  };
}

function anthropicHeaders(
  counted: 'requests' | 'tokens',
  state: RateState | undefined,
  nowMs: number,
): HeaderMap {
  if (state === undefined) return {};
  return {
    [`anthropic-ratelimit-${counted}-limit`]: String(state.limit),
    [`anthropic-ratelimit-${counted}-remaining`]: String(state.remaining),
    [`anthropic-ratelimit-${counted}-reset`]: new Date(nowMs + state.resetMs).toISOString(),
  };
}

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** A duration as Go prints it, which is how OpenAI writes them. */
function durationText(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${ms}ms`;
  const hours = Math.floor(ms / hourMs);
  const minutes = Math.floor((ms % hourMs) / minuteMs);
  const seconds = (ms % minuteMs) / 1_000;
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}
