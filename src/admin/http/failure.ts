/** Answers a request that failed, and reports what the answer does not explain. */
import type { ServerResponse } from 'node:http';
import { type AdminError, adminErrorOf } from '../admin-error.ts';
import { sendError } from './reply.ts';

/** The error of a reply; what it does not explain is reported to `onError`. */
export function reportedError(
  error: unknown,
  onError: ((error: unknown) => void) | undefined,
): AdminError {
  const failure = adminErrorOf(error);
  if (failure.code === 'internal_error' || failure.code === 'unavailable') {
    report(onError, failure.cause ?? error);
  }
  return failure;
}

export function sendFailure(
  response: ServerResponse,
  error: unknown,
  onError: ((error: unknown) => void) | undefined,
): void {
  const failure = reportedError(error, onError);
  sendError(response, failure, headersFor(failure));
}

function headersFor({ code, message }: AdminError): Readonly<Record<string, string>> {
  if (code !== 'method_not_allowed') return {};
  const reads = message.includes('GET') ? ['GET', 'HEAD'] : [];
  return { allow: [...reads, ...(message.includes('POST') ? ['POST'] : [])].join(', ') };
}

function report(onError: ((error: unknown) => void) | undefined, error: unknown): void {
  try {
    onError?.(error);
  } catch {
    // An error of onError itself can't be reported.
  }
}
