/**
 * The results of the load generator: whether each response was a complete 200, how long it took,
 * and how old an event was when it arrived.
 */
import { createHistogram } from 'node:perf_hooks';

/** Up to this size, the first response of each call is checked as a whole. */
const checkedBytes = 1024 * 1024;
const tailBytes = 256;
/** Precedes the time, in µs of CLOCK_MONOTONIC, at which the upstream sent an event. */
const stampMark = Buffer.from('"at":"');
const stampDigits = 16;

/** Collects the responses of one run; event delays in the first `settleMs` are ignored. */
export function loadResults({ events = 0, settleMs = 0 }) {
  const settledAt = performance.now() + settleMs;
  const latency = createHistogram();
  const firstByte = createHistogram();
  const eventDelay = createHistogram();
  const firsts = new Map();
  let done = 0;

  /** Every response to a call must have the length of the first, which was checked as a whole. */
  function judge(call, status, bytes, whole, tail) {
    const excerpt = () =>
      Buffer.concat(whole ?? [tail])
        .toString()
        .slice(0, 500);
    if (status !== 200) return `Answered with ${status}: ${excerpt()}`;
    const lacks = (text) => `The response lacks ${text}: ${excerpt()}`;
    const first = firsts.get(call);
    if (first === undefined) {
      const endsWithIt = tail.includes(call.expect);
      if (!endsWithIt && !Buffer.concat(whole).includes(call.expect)) return lacks(call.expect);
      const found = events === 0 ? 0 : countEvents(whole);
      if (found < events) return `The stream had ${found} events of ${events}: ${excerpt()}`;
      firsts.set(call, { bytes, endsWithIt });
      return undefined;
    }
    if (first.endsWithIt && !tail.includes(call.expect)) return lacks(call.expect);
    // Ids and timestamps may differ in length by a character.
    return bytes < first.bytes * 0.99
      ? `The response had ${bytes} bytes where the first one had ${first.bytes}: ${excerpt()}`
      : undefined;
  }

  function begin(call) {
    const beganAt = performance.now();
    let status = 0;
    let bytes = 0;
    let whole = firsts.has(call) ? undefined : [];
    let tail = Buffer.alloc(0);
    const answer = {
      keepAlive: true,
      onHead: (text) => {
        status = Number(text.slice(9, 12));
        answer.keepAlive = !/\r\nconnection: *close/i.test(text);
        if (status !== 200) whole = [];
      },
      onData: (piece) => {
        if (bytes === 0) firstByte.record(microsSince(beganAt));
        bytes += piece.length;
        if (whole !== undefined && bytes <= checkedBytes) whole.push(Buffer.from(piece));
        tail = tailOf(tail, piece);
        if (call.stamped && performance.now() >= settledAt) recordDelays(piece, eventDelay);
      },
      onEnd: () => {
        latency.record(microsSince(beganAt));
        const failure = judge(call, status, bytes, whole, tail);
        if (failure === undefined) done += 1;
        return failure;
      },
    };
    return answer;
  }

  return {
    begin,
    report: (seconds) => ({
      requests: done,
      events: done * events,
      seconds,
      latency: percentiles(latency),
      firstByte: percentiles(firstByte),
      eventDelay: percentiles(eventDelay),
    }),
  };
}

const microsSince = (beganAt) => Math.max(1, Math.round((performance.now() - beganAt) * 1_000));

function percentiles(histogram) {
  return { p50: histogram.percentile(50), p99: histogram.percentile(99) };
}

/** The last bytes so far; copied, because the chunk's buffer is reused. */
function tailOf(tail, piece) {
  if (piece.length >= tailBytes) return Buffer.from(piece.subarray(-tailBytes));
  const joined = Buffer.concat([tail, piece]);
  return joined.length > tailBytes ? joined.subarray(-tailBytes) : joined;
}

function countEvents(pieces) {
  return Buffer.concat(pieces).toString('latin1').split('data: {').length - 1;
}

/** A timestamp that is split between two chunks is ignored: about one in thousands. */
function recordDelays(piece, eventDelay) {
  const now = monotonicMicros();
  for (let at = piece.indexOf(stampMark); at >= 0; at = piece.indexOf(stampMark, at)) {
    at += stampMark.length;
    if (at + stampDigits > piece.length) return;
    const sentAt = Number(piece.latin1Slice(at, at + stampDigits));
    eventDelay.record(Math.max(1, Math.round(now - sentAt)));
  }
}

function monotonicMicros() {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1e6 + nanos / 1e3;
}
