/** Opens an upstream's response: a reply, or the error that it sent in place of one. */
import { retryAfterMs } from '../../dialects/retry-after.ts';
import type { FailureReport } from '../../dialects/taps/tap.ts';
import type { HeaderMap } from '../../http.ts';
import type { Settings } from '../../options.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import { readHead } from '../../upstream/body/head.ts';
import type { Begun } from '../call-record.ts';
import { whenKnown } from '../ports/port-calls.ts';
import type { FailedReply, PreparedCall, PreparedRequest } from '../prepare/prepared-call.ts';
import { type Opening, openReply } from './open-reply.ts';
import type { OpenedResponse } from './send-upstream.ts';

export function openResponse(
  response: OpenedResponse,
  prepared: PreparedRequest,
  { running, received: { settings } }: Begun,
): MaybePromise<Opening> {
  const { status, headers } = response;
  if (status < 200 || status >= 300) {
    return openErrorResponse(response, prepared, settings);
  }
  return whenKnown(openReply(response, prepared, running), (opening) =>
    opening.kind === 'failure' ? failedReply(opening.report, headers, settings) : opening,
  );
}

/** Error documents are small. Of a larger one the beginning suffices. */
export async function openErrorResponse(
  { status, headers, body }: OpenedResponse,
  { dialect }: PreparedCall,
  settings: Settings,
): Promise<FailedReply> {
  const report = dialect.readFailure(status, await readErrorBody(body), headers);
  return failedReply(report, headers, settings);
}

/** An upstream may state one wait in a header and another in the error. Both have to be over. */
function failedReply(report: FailureReport, headers: HeaderMap, { clock }: Settings): FailedReply {
  const waits = [report.retryAfterMs, retryAfterMs(headers, clock.now())];
  const named = waits.filter((waitMs) => waitMs !== undefined);
  const waitMs = named.length === 0 ? undefined : Math.max(...named);
  return { kind: 'failure', report: { ...report, retryAfterMs: waitMs } };
}

const maxErrorBodyBytes = 64 * 1024;

/** The beginning of an error document; empty if it breaks off. */
export async function readErrorBody(body: OpenedResponse['body']): Promise<Uint8Array> {
  let length = 0;
  try {
    const head = await readHead(body, (chunk) => {
      length += chunk.length;
      return length > maxErrorBodyBytes;
    });
    if (!head.ended) body.abort();
    return head.bytes;
  } catch {
    // The status is known; only the text of the error is lost.
    return new Uint8Array(0);
  }
}
