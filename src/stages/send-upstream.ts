/**
 * Sends a request so that the call ends when the gateway ends it. A host's own client may ignore an
 * abort, and must not keep a call, its hold and its caller waiting forever.
 */

import type {
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../ports/upstream-client.ts';
import type { DetachableBody } from '../upstream/body/head.ts';
import { type OpenedBody, openedBody } from '../upstream/body/opened.ts';
import { transportError } from '../upstream/transport-error.ts';
import { headReceived, stopWatching } from '../upstream/watch-attempt.ts';
import type { RunningCall } from './running.ts';

/** An upstream's response, whose body ends with the call. */
export interface OpenedResponse extends UpstreamResponse {
  readonly body: DetachableBody;
}

/**
 * Sends the request. Returns the response's head, and a body that breaks off when the call is
 * aborted.
 *
 * @throws UpstreamError with the stage that the client reports, or that the gateway knows of
 */
export function sendUpstream(
  client: UpstreamClient,
  requestFor: (onAbort: UpstreamRequest['onAbort']) => UpstreamRequest,
  running: RunningCall,
): Promise<OpenedResponse> {
  const { watch } = running;
  return new Promise((resolve, reject) => {
    let aborted: Error | undefined;
    let abortClient: ((reason: Error) => void) | undefined;
    let opened: OpenedBody | undefined;

    const fail = (error: unknown): void => {
      if (watch !== undefined) stopWatching(watch);
      reject(error);
    };

    running.caller.onAbort((reason) => {
      aborted = reason;
      // The client may reject first, with the better error: it knows whether anything was sent.
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
      if (watch !== undefined) headReceived(watch);
      opened = openedBody(body, watch);
      resolve({ status, headers, body: opened });
    };
    const request = requestFor((abort) => {
      abortClient = abort;
      // The client may register late, after the call was aborted.
      if (aborted !== undefined) abort(aborted);
    });
    Promise.resolve(client.send(request)).then(open).catch(fail);
  });
}
