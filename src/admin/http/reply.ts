/**
 * Writes replies: JSON with amounts as strings, CSV exports, the headers of every reply, and the
 * answers to requests that failed.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';
import { swallowErrors } from '../../events/thrown.ts';
import { within } from '../../ports/within.ts';
import { AdminError, adminErrorOf, adminStatusOf } from '../admin-error.ts';
import { given } from '../deps.ts';

/** JSON in which amounts are decimal strings and undefined is null. */
export function jsonTextOf(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'bigint' ? String(member) : (member ?? null),
  );
}

const everyReply: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** Also removes CORS headers that would let other origins read the reply. */
export function startReply(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
): void {
  for (const name of response.getHeaderNames()) {
    if (name.startsWith('access-control-')) response.removeHeader(name);
  }
  response.statusCode = status;
  for (const [name, value] of Object.entries({ ...everyReply, ...headers })) {
    response.setHeader(name, value);
  }
}

/**
 * Closes the connection after this reply: a server that is closing waits for connections that its
 * clients keep using. HTTP/2 has no such header; its servers close their sessions themselves.
 */
export function closeAfterwards(response: ServerResponse): void {
  if (response.req.httpVersionMajor === 1) response.setHeader('connection', 'close');
}

export function sendJson(
  response: ServerResponse,
  status: number,
  document: unknown,
  headers: { readonly [Name in string]?: string } = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const bytes = Buffer.from(jsonTextOf(document));
  startReply(response, status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(bytes.length),
    ...headers,
  });
  // Node leaves the body out of a reply to HEAD.
  response.end(bytes);
}

/** The error of a reply; what it does not explain is reported to `onError`. */
export function reportedError(
  error: unknown,
  onError: ((error: unknown) => void) | undefined,
): AdminError {
  const failure = adminErrorOf(error);
  if (failure.code === 'internal_error' || failure.code === 'unavailable') {
    // An error of onError itself can't be reported.
    swallowErrors(() => onError?.(failure.cause ?? error));
  }
  return failure;
}

/** Sends an error, and closes the connection if a part of the body is unread. */
export function sendFailure(
  response: ServerResponse,
  thrown: unknown,
  onError: ((error: unknown) => void) | undefined,
): void {
  const { code, message, field, problems } = reportedError(thrown, onError);
  const isHalfRead = response.req.readableDidRead && !response.req.complete;
  const allow = code === 'method_not_allowed' ? allowedIn(message) : undefined;
  const connection = code === 'body_too_large' || isHalfRead ? 'close' : undefined;
  const error = given({ code, message, field, problems });
  sendJson(response, adminStatusOf[code], { error }, given({ connection, allow }));
}

function allowedIn(message: string): string {
  const reads = message.includes('GET') ? ['GET', 'HEAD'] : [];
  return [...reads, ...(message.includes('POST') ? ['POST'] : [])].join(', ');
}

export interface CsvExport {
  readonly fileName: string;
  readonly csv: AsyncIterable<string>;
}

export type SendExport = ReturnType<typeof csvExports>;

const maxExports = 4;
/** A client that reads nothing for this long counts as disconnected. */
const drainMs = 30_000;

/** The exports of one handler: a few at a time, and only as fast as the client reads. */
export function csvExports(clock: Clock) {
  let running = 0;
  return async (response: ServerResponse, file: CsvExport, isHead: boolean): Promise<void> => {
    if (running >= maxExports) {
      throw new AdminError(
        'conflict',
        `${maxExports} exports are running, which is the maximum. Try again when one has ended.`,
      );
    }
    running += 1;
    try {
      await sendCsv(response, file, isHead, clock);
    } finally {
      running -= 1;
    }
  };
}

/**
 * An error before the first piece is thrown; a later one aborts the reply, so that it does not look
 * complete.
 */
async function sendCsv(
  response: ServerResponse,
  { fileName, csv }: CsvExport,
  isHead: boolean,
  clock: Clock,
): Promise<void> {
  const iterator = csv[Symbol.asyncIterator]();
  let piece = await iterator.next();
  startReply(response, 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${fileName}"`,
  });
  if (isHead) {
    await iterator.return?.();
    response.end();
    return;
  }
  try {
    while (piece.done !== true && !response.destroyed) {
      if (!response.write(piece.value)) await within(drained(response), drainMs, clock);
      piece = await iterator.next();
    }
    response.end();
  } catch {
    response.destroy();
  } finally {
    await iterator.return?.();
  }
}

async function drained(response: ServerResponse): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  try {
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  } finally {
    stop.abort();
  }
}
