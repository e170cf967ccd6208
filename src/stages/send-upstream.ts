/**
 * Sends a request so that the call ends when we end it: a host's own client may not listen, and
 * must not keep a call, its hold and its caller waiting for ever.
 */
import type { UpstreamError } from '../errors.ts';
import type {
  ByteSink,
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../ports/upstream-client.ts';
import { transportError } from '../upstream/transport-error.ts';
import type { RunningCall } from './running.ts';
import { type AttemptWatch, headCame, over, paused, pieceCame, resumed } from './watch-attempt.ts';

/**
 * The answer's head, and a body that breaks off when the call is aborted.
 *
 * @throws UpstreamError with the stage the client tells, or the one we know of
 */
export function sendUpstream(
  client: UpstreamClient,
  requestFor: (onAbort: UpstreamRequest['onAbort']) => UpstreamRequest,
  running: RunningCall,
): Promise<UpstreamResponse> {
  const { attempt } = running;
  return new Promise((resolve, reject) => {
    let aborted: Error | undefined;
    let abortClient: ((reason: Error) => void) | undefined;
    let opened: CuttableBody | undefined;

    const fail = (error: unknown): void => {
      if (attempt !== undefined) over(attempt);
      reject(error);
    };

    running.onAbort((reason) => {
      aborted = reason;
      // The client's own word comes first: it knows whether anything had gone out.
      setImmediate(() => {
        fail(transportError(reason, 'sent'));
        opened?.cut(reason);
      });
      abortClient?.(reason);
    });
    if (aborted !== undefined) return fail(transportError(aborted, 'connect'));

    const open = ({ status, headers, body }: UpstreamResponse): void => {
      if (aborted !== undefined) {
        body.abort();
        return fail(transportError(aborted, 'body'));
      }
      if (attempt !== undefined) headCame(attempt);
      opened = cuttable(body, attempt);
      resolve({ status, headers, body: opened.body });
    };
    const request = requestFor((abort) => {
      abortClient = abort;
      // A client that asks late, and has nothing to send any more.
      if (aborted !== undefined) abort(aborted);
    });
    Promise.resolve(client.send(request)).then(open).catch(fail);
  });
}

interface CuttableBody {
  readonly body: UpstreamBody;
  /** Breaks the body off, unless it has come to its end or has been given up. */
  cut(reason: Error): void;
}

/** Spelt out, not spread: the body of a host's own client may be an instance of a class. */
function cuttable(body: UpstreamBody, attempt: AttemptWatch | undefined): CuttableBody {
  let sink: ByteSink | undefined;
  let failure: UpstreamError | undefined;
  let isOver = false;

  const finish = (tell: () => void): void => {
    if (isOver) return;
    isOver = true;
    if (attempt !== undefined) over(attempt);
    tell();
  };

  return {
    body: {
      takeWhole: (limit) => body.takeWhole(limit),
      start: (target) => {
        if (failure !== undefined) return target.fail(failure);
        sink = target;
        body.start({
          write: (chunk) => {
            if (isOver) return;
            if (attempt !== undefined) pieceCame(attempt);
            target.write(chunk);
          },
          end: () => finish(() => target.end()),
          fail: (error) => finish(() => target.fail(error)),
        });
      },
      pause: () => {
        if (attempt !== undefined) paused(attempt);
        body.pause();
      },
      resume: () => {
        if (attempt !== undefined) resumed(attempt);
        body.resume();
      },
      abort: () => {
        isOver = true;
        if (attempt !== undefined) over(attempt);
        body.abort();
      },
    },
    cut: (reason) =>
      finish(() => {
        failure = transportError(reason, 'body');
        body.abort();
        sink?.fail(failure);
      }),
  };
}
