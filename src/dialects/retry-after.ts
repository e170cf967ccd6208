/** Reads how long an upstream asks to wait, in every form that upstreams were seen to send. */
import type { HeaderMap } from '../http.ts';

/**
 * The wait in ms from `retry-after-ms`, else `retry-after` in seconds or as an HTTP date (RFC 9110
 * §10.2.3), which is read by the clock of who sent it where it says its time, else by `nowMs`;
 * undefined where there is none that makes sense.
 */
export function retryAfterMs(headers: HeaderMap, nowMs: number): number | undefined {
  const millis = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (millis >= 0) return millis;
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  if (/^\s*\d+(?:\.\d+)?\s*$/.test(text)) return Number.parseFloat(text) * 1_000;
  // JavaScript takes much for a date, `-5` among it.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date)
    ? undefined
    : Math.max(0, date - (Date.parse(headers.date ?? '') || nowMs));
}

/** Google's `RetryInfo.retryDelay`, `"34.07s"`, in ms. */
export function durationMs(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^\d+(?:\.\d+)?s$/.test(text)) return undefined;
  return Number.parseFloat(text) * 1_000;
}
