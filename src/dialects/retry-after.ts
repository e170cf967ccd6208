/** Reads how long an upstream asks to wait, in every form that upstreams were seen to send. */
import type { HeaderMap } from '../http.ts';
import { items, type JsonValue, member } from '../json.ts';

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
  // `Date.parse` accepts many strings that are not dates, such as `-5`.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date)
    ? undefined
    : Math.max(0, date - (Date.parse(headers.date ?? '') || nowMs));
}

/**
 * The wait that an error document states, in ms: Google's `RetryInfo`, also on its compatible
 * endpoint, else the words of the message. An event of a stream has no header for it.
 */
export function statedWaitMs(
  error: JsonValue | undefined,
  message: string | undefined,
): number | undefined {
  const delays = items(member(error, 'details')).map((detail) =>
    durationMs(member(detail, 'retryDelay')),
  );
  return delays.find(Boolean) ?? waitInWords(message);
}

const unitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/**
 * The wait in a message such as OpenAI's "Please try again in 6m0.5s", Gemini's "Please retry in
 * 34.07s" or Azure's "Please retry after 26 seconds". Text after a quotation mark may quote a
 * caller, who must not decide how long the account is left alone.
 */
function waitInWords(message: string = ''): number | undefined {
  const lead = /^[^'"`“‘]*?\b(?:try again|retry) (?:in|after) (?=\d)/i.exec(message);
  if (lead === null) return undefined;
  const part = / ?(\d{1,9}(?:\.\d{1,9})?) ?(ms|[hms]|seconds?|minutes?|hours?)(?![a-z])/iy;
  part.lastIndex = lead.index + lead[0].length;
  let waitMs: number | undefined;
  for (let found = part.exec(message); found !== null; found = part.exec(message)) {
    const [, amount = '', unit = ''] = found;
    const name = unit.toLowerCase();
    const unitMs = unitsMs[name] ?? unitsMs[name.slice(0, 1)] ?? 0;
    waitMs = (waitMs ?? 0) + Number.parseFloat(amount) * unitMs;
  }
  return waitMs;
}

/** Converts Google's `RetryInfo.retryDelay`, such as `"34.07s"`, to ms. */
function durationMs(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^\d+(?:\.\d+)?s$/.test(text)) return undefined;
  return Number.parseFloat(text) * 1_000;
}
