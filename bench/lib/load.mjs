/**
 * The load generator, a process of its own: keep-alive connections on raw sockets, a request
 * written as one prepared buffer, and no more read of an answer than proves it whole. It must cost
 * less than what it measures.
 */
import { answering } from './answering.mjs';
import { openConnection } from './load-connection.mjs';
import { loadResults } from './load-results.mjs';
import { requestWriter } from './request-writer.mjs';

let current;

/**
 * Calls one port until enough calls have ended.
 *
 * @param shape `port`; `call` as `calls.mjs` makes it, or a list that takes turns; `connections`;
 *   `requests` or `durationMs`; `spread`: how many numbers `{n}` takes; `events`: how many a stream
 *   has; `settleMs`: how long their delays are not looked at; `allowErrors`: count failed calls in
 *   place of giving up
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

  /** The next call for a connection that has nothing to do; undefined when all have begun. */
  const nextCall = () => {
    if (begun >= (shape.requests ?? Number.POSITIVE_INFINITY) || performance.now() >= endsAt)
      return;
    const turn = begun % calls.length;
    begun += 1;
    return { call: calls[turn], bytes: writers[turn](begun) };
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
