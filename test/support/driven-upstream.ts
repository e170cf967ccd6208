/** An upstream client of which a test makes every step: no socket, no time, no chance. */

import { UpstreamError, type UpstreamStage } from '../../src/errors.ts';
import { failureReasonOf } from '../../src/failure-reasons.ts';
import type { HeaderMap } from '../../src/http.ts';
import type {
  ByteSink,
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
} from '../../src/ports/upstream-client.ts';
import { transportError } from '../../src/upstream/transport-error.ts';

/** One call that reached the upstream. */
export interface DrivenCall {
  readonly request: UpstreamRequest;
  /** The status that was sent; undefined if the call had ended before. */
  readonly status: number | undefined;
  /** The reason why the gateway aborted the call; undefined if it has not. */
  readonly abortReason: string | undefined;
  /** The gateway has paused the body. */
  readonly isPaused: boolean;
  /** Resolves with the reason when the gateway aborts the call. */
  readonly aborted: Promise<string>;
  /** The call is still connecting; nothing has been sent. */
  dial(): void;
  /** Sends status and headers. */
  respond(status: number, headers?: HeaderMap): void;
  write(text: string | Uint8Array): void;
  end(): void;
  /** Sends status, headers and body. */
  answer(status: number, body: unknown, headers?: HeaderMap): void;
  /** Breaks the call at its current stage, or at the given one. */
  breakOff(reason: string, details?: { readonly stage?: UpstreamStage; timedOut?: boolean }): void;
}

/** Handles a call as soon as it arrives. */
export type CallHandler = (call: DrivenCall) => void;

/** The client, and its calls. */
export interface DrivenUpstream extends UpstreamClient {
  readonly calls: readonly DrivenCall[];
  readonly isClosed: boolean;
  /** Returns each call once, oldest first; waits for one that has not arrived yet. */
  next(): Promise<DrivenCall>;
}

/** Handles the first calls by `plays`, one each; later calls wait for the test. */
export function drivenUpstream(...handlers: readonly CallHandler[]): DrivenUpstream {
  const calls: DrivenCall[] = [];
  const untaken: DrivenCall[] = [];
  const waiters: ((call: DrivenCall) => void)[] = [];
  let isClosed = false;
  return {
    calls,
    get isClosed() {
      return isClosed;
    },
    next: () => {
      const call = untaken.shift();
      if (call !== undefined) return Promise.resolve(call);
      return new Promise((resolve) => {
        waiters.push(resolve);
      });
    },
    send: (request) =>
      new Promise((resolve, reject) => {
        const call = drivenCall(request, resolve, reject);
        const handler = handlers[calls.length];
        calls.push(call);
        handler?.(call);
        const waiter = waiters.shift();
        if (waiter === undefined) untaken.push(call);
        else waiter(call);
      }),
    close: async () => {
      isClosed = true;
    },
  };
}

function drivenCall(
  request: UpstreamRequest,
  resolve: (response: Awaited<ReturnType<UpstreamClient['send']>>) => void,
  reject: (error: Error) => void,
): DrivenCall {
  const written: Uint8Array[] = [];
  let sink: ByteSink | undefined;
  let stage: UpstreamStage = 'sent';
  let ending: 'open' | 'ended' | Error = 'open';
  let sentStatus: number | undefined;
  let abortReason: string | undefined;
  let isPaused = false;
  let onAborted: (reason: string) => void = () => {};
  const aborted = new Promise<string>((resolve) => {
    onAborted = resolve;
  });

  const noteAbort = (reason: string): void => {
    abortReason ??= reason;
    onAborted(reason);
  };
  const finish = (): void => {
    if (sink === undefined || ending === 'open') return;
    if (ending === 'ended') sink.end();
    else sink.fail(ending);
  };
  const fail = (error: Error): void => {
    if (ending !== 'open') return;
    ending = error;
    reject(error);
    finish();
  };
  const body: UpstreamBody = {
    takeWhole: () => undefined,
    start: (target) => {
      sink = target;
      for (const chunk of written.splice(0)) target.write(chunk);
      finish();
    },
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
    abort: () => {
      if (ending !== 'open') return;
      ending = new UpstreamError('body', 'aborted');
      noteAbort('aborted');
    },
  };
  const call: DrivenCall = {
    request,
    get status() {
      return sentStatus;
    },
    get isPaused() {
      return isPaused;
    },
    get abortReason() {
      return abortReason;
    },
    aborted,
    dial: () => {
      stage = 'connect';
    },
    respond: (status, headers = {}) => {
      stage = 'body';
      if (ending === 'open') sentStatus ??= status;
      resolve({ status, headers, body });
    },
    write: (text) => {
      if (ending !== 'open') return;
      const chunk = Buffer.from(text);
      if (sink === undefined) written.push(chunk);
      else sink.write(chunk);
    },
    end: () => {
      if (ending !== 'open') return;
      ending = 'ended';
      finish();
    },
    answer: (status, value, headers = { 'content-type': 'application/json' }) => {
      call.respond(status, headers);
      call.write(typeof value === 'string' ? value : JSON.stringify(value));
      call.end();
    },
    breakOff: (reason, details = {}) =>
      fail(
        new UpstreamError(details.stage ?? stage, failureReasonOf(reason), {
          timedOut: details.timedOut ?? false,
        }),
      ),
  };
  request.onAbort((error) => {
    const failure = transportError(error, stage);
    noteAbort(failure.reason);
    fail(failure);
  });
  return call;
}
