/**
 * The load generator, a separate process: keep-alive connections on raw sockets, each request
 * written as one prepared buffer, and only as much of a response parsed as proves it complete. It
 * must cost less than what it measures.
 */
import { answering } from './answering.mjs';
import { openConnection } from './load-connection.mjs';
import { loadResults } from './load-results.mjs';
import { requestWriter } from './request-writer.mjs';

let current;

/**
 * Calls one port until the requested number of calls or the time is reached.
 *
 * @param shape `port`; `call` from `calls.mjs`, or a list to rotate through; `connections`;
 *   `requests` or `durationMs`; `waveMs`: how many ms apart all connections begin a call together;
 *   `spread`: the number of values of `{n}`; `events`: the number of events in a stream;
 *   `settleMs`: how long their delays are ignored at first; `allowErrors`: count failed calls
 *   instead of giving up
 */
async function run(shape) {
  const calls = [shape.call].flat();
  const writers = calls.map((call) => requestWriter(call, shape.port, shape.spread));
  const results = loadResults(shape);
  current = results;
  const beganAt = performance.now();
  const endsAt =
    shape.durationMs === undefined ? Number.POSITIVE_INFINITY : beganAt + shape.durationMs;
  let begun = 0;

  /** When the call of this number, counted from 1, begins: immediately, or with its wave. */
  const beginAtMs = (number) =>
    shape.waveMs === undefined
      ? 0
      : beganAt + Math.floor((number - 1) / shape.connections) * shape.waveMs;

  /** The next call for an idle connection; undefined when all have begun. */
  const nextCall = () => {
    if (begun >= (shape.requests ?? Number.POSITIVE_INFINITY) || performance.now() >= endsAt)
      return;
    const turn = begun % calls.length;
    begun += 1;
    return { call: calls[turn], bytes: writers[turn](begun), atMs: beginAtMs(begun) };
  };
  await Promise.all(
    Array.from({ length: shape.connections }, () =>
      openConnection({
        port: shape.port,
        nextCall,
        results,
        allowErrors: shape.allowErrors === true,
      }),
    ),
  );
  return results.report((performance.now() - beganAt) / 1_000);
}

answering(undefined, { run, progress: () => current?.progress() });
