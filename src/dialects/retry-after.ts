/** Reads how long an upstream asks to wait, in every form that upstreams were seen to send. */
import type { HeaderMap } from '../http.ts';

/**
 * Returns the wait in ms: from `retry-after-ms`, else from `retry-after` in seconds or as an HTTP
 * date (RFC 9110 §10.2.3). A date is compared with the reply's `date` header if present, else with
 * `nowMs`. Undefined if neither header has a valid value.
 */
export function retryAfterMs(headers: HeaderMap, nowMs: number): number | undefined {
  const millis = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (millis >= 0) return millis;
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  if (/^\s*\d+(?:\.\d+)?\s*$/.test(text)) return Number.parseFloat(text) * 1_000;
  // `Date.parse` accepts many strings that are no dates, such as `-5`.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date)
    ? undefined
    : Math.max(0, date - (Date.parse(headers.date ?? '') || nowMs));
}

/** Converts Google's `RetryInfo.retryDelay`, such as `"34.07s"`, to ms. */
export function durationMs(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^\d+(?:\.\d+)?s$/.test(text)) return undefined;
  return Number.parseFloat(text) * 1_000;
}
