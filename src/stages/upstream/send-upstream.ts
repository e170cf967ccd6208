/**
 * Sends a request so that the call ends when the gateway ends it. A host's own client may ignore an
 * abort, throw or answer anything: that fails the attempt, and must not keep a call, its hold and
 * its caller waiting forever.
 */

import type {
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../../ports/upstream-client.ts';
import { swallowErrors } from '../../thrown.ts';
import type { DetachableBody } from '../../upstream/body/head.ts';
import { OpenedBody } from '../../upstream/body/opened.ts';
import { clientFailure, requestFailure, transportError } from '../../upstream/transport-error.ts';
import { headReceived, stopWatching } from '../../upstream/watch-attempt.ts';
import type { RunningCall } from '../running.ts';

/** An upstream's response, whose body ends with the call. */
export interface OpenedResponse extends UpstreamResponse {
  readonly body: DetachableBody;
}

export interface LatestResponse {
  status: number | undefined;
}

/**
 * Sends the request. Returns the response's head, and a body that breaks off when the call is
 * aborted. `latest` gets the status even if the call was aborted before.
 *
 * @throws UpstreamError with the stage that the client reports, else the one that the gateway saw
 */
export function sendUpstream(
  client: UpstreamClient,
  requestFor: (onAbort: UpstreamRequest['onAbort']) => UpstreamRequest,
  running: RunningCall,
  latest: LatestResponse = { status: undefined },
): Promise<OpenedResponse> {
  const { watch } = running;
  latest.status = undefined;
  return new Promise((resolve, reject) => {
    let aborted: Error | undefined;
    let abortClient: ((reason: Error) => void) | undefined;
    let opened: OpenedBody | undefined;
    const fail = (error: unknown): void => {
      if (watch !== undefined) stopWatching(watch);
      reject(requestFailure(error));
    };
    const abortRequest = (reason: Error): void => {
      const abort = abortClient;
      if (abort !== undefined) swallowErrors(() => abort(reason));
    };
    running.caller.onAbort((reason) => {
      aborted = reason;
      // The client may reject first, with the better error: it knows whether anything was sent.
      setImmediate(() => {
        fail(transportError(reason, 'sent'));
        opened?.cut(reason);
      });
      abortRequest(reason);
    });
    if (aborted !== undefined) return fail(transportError(aborted, 'connect'));
    const open = (response: UpstreamResponse): void => {
      const isValid = isResponse(response);
      if (isValid) latest.status = response.status;
      if (aborted !== undefined) {
        swallowErrors(() => response.body.abort());
        return fail(transportError(aborted, 'body'));
      }
      if (!isValid) {
        const failure = clientFailure('sent');
        abortRequest(failure);
        swallowErrors(() => response.body.abort());
        return fail(failure);
      }
      const { status, headers, body } = response;
      if (watch !== undefined) headReceived(watch);
      opened = new OpenedBody(body, watch);
      resolve({ status, headers, body: opened });
    };
    const request = requestFor((abort) => {
      abortClient = abort;
      // The client may register late, after the call was aborted.
      if (aborted !== undefined) abortRequest(aborted);
    });
    try {
      Promise.resolve(client.send(request)).then(open).catch(fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** The headers that the gateway reads: see `UpstreamResponse`. */
const readHeaders = ['content-type', 'retry-after', 'retry-after-ms', 'date'] as const;

/** True for a response that keeps to the contract. Members may be inherited; getters may throw. */
function isResponse(response: UpstreamResponse): boolean {
  try {
    const { status, headers, body } = response;
    if (!Number.isInteger(status) || status < 200 || status > 999) return false;
    if (typeof headers !== 'object') return false;
    for (const name of readHeaders) {
      if (typeof (headers[name] ?? '') !== 'string') return false;
    }
    return (
      typeof body.takeWhole === 'function' &&
      typeof body.start === 'function' &&
      typeof body.pause === 'function' &&
      typeof body.resume === 'function' &&
      typeof body.abort === 'function'
    );
  } catch {
    return false;
  }
}
