/**
 * Opens the replies of a call that takes several requests. They are sent one after the other, so
 * that their order is certain and the call does not run into a rate limit by itself. The reply is
 * used only if all of them succeed; if one fails, the series knows the usage of those before.
 */
import { isUpstreamError, type UpstreamError } from '../../errors.ts';
import type { DetachableBody } from '../../upstream/body/head.ts';
import { BodyInTurns, turnBytes } from '../../upstream/body/in-turns.ts';
import type { BadReply, FailedReply, MadeReply, RequestSeries } from '../prepare/prepared-call.ts';
import type { CallFailure } from './failure.ts';
import type { Opening } from './open-reply.ts';
import type { OpenedResponse } from './send-upstream.ts';

export interface SeriesDeps {
  sendFirst(isRepeated: boolean): Promise<OpenedResponse>;
  send(body: readonly Uint8Array[]): Promise<OpenedResponse>;
  openError(response: OpenedResponse): Promise<FailedReply>;
  failureOf(failed: FailedReply | BadReply): CallFailure;
  failureOfBreak(error: UpstreamError): CallFailure;
  /** Reports the failure of a request that is sent again. */
  report(failure: CallFailure): void;
  mayRetry(): boolean;
}

export type Opened = Opening | MadeReply;

type FailedRequest =
  | { readonly failed: FailedReply | BadReply }
  | { readonly broken: UpstreamError };

/**
 * Sends the requests of a call and reads their replies. One of several requests that fails is sent
 * once more; if it fails again, so does the call.
 *
 * @throws UpstreamError if a connection breaks
 */
export async function openSeries(series: RequestSeries, deps: SeriesDeps): Promise<Opened> {
  let failed = await receiveFirst(series, deps);
  while (failed === undefined) {
    const body = series.next();
    if (body === undefined) return series.reply();
    failed = await receive(() => deps.send(body), series, deps);
    if (failed !== undefined && mayResend(failed, deps)) {
      failed = await receive(() => deps.send(body), series, deps);
    }
  }
  return failedSeries(failed);
}

/** A call of a single request is not sent again here: it is retried on the next channel. */
async function receiveFirst(
  series: RequestSeries,
  deps: SeriesDeps,
): Promise<FailedRequest | undefined> {
  const failed = await receive(() => deps.sendFirst(false), series, deps);
  if (!series.isSplit || failed === undefined || !mayResend(failed, deps)) return failed;
  return receive(() => deps.sendFirst(true), series, deps);
}

function failedSeries(request: FailedRequest): Opened {
  if ('broken' in request) throw request.broken;
  return request.failed;
}

/** Not for a fault of the request or the account, nor a rate limit, which would refuse again. */
function mayResend(request: FailedRequest, deps: SeriesDeps): boolean {
  const failure =
    'broken' in request ? deps.failureOfBreak(request.broken) : deps.failureOf(request.failed);
  if (failure.retry === 'never' || failure.healthSignal.kind !== 'failed') return false;
  if (failure.ending !== 'not_run' && !deps.mayRetry()) return false;
  deps.report(failure);
  return true;
}

async function receive(
  send: () => Promise<OpenedResponse>,
  series: RequestSeries,
  deps: SeriesDeps,
): Promise<FailedRequest | undefined> {
  try {
    const response = await send();
    const { status, body } = response;
    if (status < 200 || status >= 300) return { failed: await deps.openError(response) };
    const reader = series.read();
    await readInTurns(body, reader.write);
    const failed = reader.end();
    return failed === undefined ? undefined : { failed };
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    return { broken: error };
  }
}

/** @throws UpstreamError if the body breaks off, or `write` throws */
function readInTurns(opened: DetachableBody, write: (chunk: Uint8Array) => void): Promise<void> {
  const body = new BodyInTurns(opened);
  const whole = body.takeWhole(turnBytes);
  if (whole !== undefined) {
    write(whole);
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    body.start({
      write: (chunk) => {
        try {
          write(chunk);
        } catch (error) {
          body.abort();
          reject(error);
        }
      },
      end: resolve,
      fail: reject,
    });
  });
}
