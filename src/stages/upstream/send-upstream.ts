/**
 * Sends a request so that the call ends when the gateway ends it. A host's own client may ignore an
 * abort, throw or answer anything: that fails the attempt, and must not keep a call, its hold and
 * its caller waiting forever.
 */

import type { UpstreamError } from '../../errors.ts';
import { swallowErrors } from '../../events/thrown.ts';
import type {
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../../ports/upstream-client.ts';
import type { DetachableBody } from '../../upstream/body/head.ts';
import { OpenedBody } from '../../upstream/body/opened.ts';
import { clientFailure, requestFailure, transportError } from '../../upstream/transport-error.ts';
import { type AttemptWatch, headReceived, stopWatching } from '../../upstream/watch-attempt.ts';
import type { LoopTurn } from '../loop-turn.ts';
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
 * aborted.
 *
 * @throws UpstreamError with the stage that the client reports, else the one that the gateway saw
 */
export function sendUpstream(
  request: Omit<UpstreamRequest, 'onAbort'>,
  deps: SendingDeps,
): Promise<OpenedResponse> {
  deps.latest.status = undefined;
  return new Promise((resolve, reject) => {
    new Sending(deps, resolve, reject).send(request);
  });
}

export interface SendingDeps {
  readonly client: Pick<UpstreamClient, 'send'>;
  /** A response is read at the end of the turn in which its head has arrived. */
  readonly endOfReplyTurn: LoopTurn;
  readonly running: RunningCall;
  /** Gets the status even if the call was aborted before. */
  readonly latest: LatestResponse;
}

class Sending {
  readonly #deps: SendingDeps;
  /** That of this attempt: the call may have the next one by the time that this request fails. */
  readonly #watch: AttemptWatch | undefined;
  readonly #resolve: (response: OpenedResponse) => void;
  readonly #reject: (error: UpstreamError) => void;
  #aborted: Error | undefined;
  #abortClient: ((reason: Error) => void) | undefined;
  #opened: OpenedBody | undefined;

  constructor(
    deps: SendingDeps,
    resolve: (response: OpenedResponse) => void,
    reject: (error: UpstreamError) => void,
  ) {
    this.#deps = deps;
    this.#watch = deps.running.watch;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  send(request: Omit<UpstreamRequest, 'onAbort'>): void {
    const { client, running } = this.#deps;
    running.caller.onAbort((reason) => this.#abort(reason));
    if (this.#aborted !== undefined) return this.#fail(transportError(this.#aborted, 'connect'));
    const onAbort: UpstreamRequest['onAbort'] = (abort) => {
      this.#abortClient = abort;
      // The client may register late, after the call was aborted.
      if (this.#aborted !== undefined) this.#abortRequest(this.#aborted);
    };
    const fail = (error: unknown): void => this.#fail(error);
    try {
      // Listed, because V8 copies a spread with a new member slowly.
      const { method, origin, path, headers, body, connectTimeoutMs, freshConnection } = request;
      const sent = {
        method,
        origin,
        path,
        headers,
        body,
        connectTimeoutMs,
        freshConnection,
        onAbort,
      };
      Promise.resolve(client.send(sent)).then((response) => this.#open(response), fail);
    } catch (error) {
      fail(error);
    }
  }

  #abort(reason: Error): void {
    this.#aborted = reason;
    // The client may reject first, with the better error: it knows whether anything was sent.
    setImmediate(() => {
      this.#fail(transportError(reason, 'sent'));
      this.#opened?.cut(reason);
    });
    this.#abortRequest(reason);
  }

  #abortRequest(reason: Error): void {
    const abort = this.#abortClient;
    if (abort !== undefined) swallowErrors(() => abort(reason));
  }

  #fail(error: unknown): void {
    if (this.#watch !== undefined) stopWatching(this.#watch);
    this.#reject(requestFailure(error));
  }

  #open(response: UpstreamResponse): void {
    const read = readResponse(response);
    if (read !== undefined) this.#deps.latest.status = read.status;
    if (this.#aborted !== undefined) {
      swallowErrors(() => response.body.abort());
      return this.#fail(transportError(this.#aborted, 'body'));
    }
    if (read === undefined) {
      const failure = clientFailure('sent');
      this.#abortRequest(failure);
      swallowErrors(() => response.body.abort());
      return this.#fail(failure);
    }
    const { status, headers, body } = read;
    if (this.#watch !== undefined) headReceived(this.#watch);
    const opened = new OpenedBody(body, this.#watch);
    this.#opened = opened;
    this.#deps.endOfReplyTurn(() => this.#resolve({ status, headers, body: opened }));
  }
}

/** The headers that the gateway reads: see `UpstreamResponse`. */
const readHeaders: readonly string[] = [
  ...['content-type', 'retry-after', 'retry-after-ms', 'date', 'x-amzn-errortype'],
];

/**
 * Reads a response once; undefined if it does not keep to the contract. Members may be inherited;
 * getters may throw.
 */
function readResponse(response: UpstreamResponse): UpstreamResponse | undefined {
  try {
    const { status, headers, body } = response;
    if (!Number.isInteger(status) || status < 200 || status > 999) return undefined;
    if (typeof headers !== 'object') return undefined;
    for (const name of readHeaders) {
      if (typeof (headers[name] ?? '') !== 'string') return undefined;
    }
    const isBody =
      typeof body.takeWhole === 'function' &&
      typeof body.start === 'function' &&
      typeof body.pause === 'function' &&
      typeof body.resume === 'function' &&
      typeof body.abort === 'function';
    return isBody ? { status, headers, body } : undefined;
  } catch {
    return undefined;
  }
}
