/**
 * Reads what a request says: the JSON body of a change, its target, and the host name that it was
 * sent to.
 */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { scanJson } from '../../bytes/json/scan/scan.ts';
import type { Clock } from '../../clock.ts';
import { isGatewayError } from '../../errors.ts';
import { within } from '../../ports/within.ts';
import { AdminError, isAdminError } from '../admin-error.ts';

const maxBodyBytes = 65_536;
/** The timeout for a body: the same as for the bodies of calls (docs/security.md). */
const bodyMs = 10_000;

/**
 * The parsed body. A body that a parser of the host has read is taken from `request.body`; one that
 * was read and then dropped is refused, because without its body a request may mean another change.
 *
 * @throws AdminError `body_too_large`, `invalid_request`
 */
export async function readJson(request: IncomingMessage, clock: Clock): Promise<unknown> {
  const stated = Number(request.headers['content-length'] ?? 0);
  if (stated > maxBodyBytes) throw tooLarge();
  if (request.readableDidRead) return parsedBefore(Reflect.get(request, 'body'));
  return parsed(await within(bytesOf(request), bodyMs, clock).catch(unread));
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxBodyBytes) throw tooLarge();
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

/** Any other error is the caller's: it disconnected, or stopped sending. */
function unread(error: unknown): never {
  if (isAdminError(error)) throw error;
  throw new AdminError('invalid_request', `The body was not complete after ${bodyMs / 1_000} s.`, {
    cause: error,
  });
}

/** The body as a JSON, text or raw body parser of the host has left it. */
function parsedBefore(body: unknown): unknown {
  if (typeof body === 'string') return parsed(Buffer.from(body));
  if (Buffer.isBuffer(body)) return parsed(body);
  if (body !== undefined) return body;
  throw new AdminError(
    'invalid_request',
    'A parser of this host has read the body. Mount the admin handler before it, or set body of ' +
      'the node:http request to what the parser has read.',
  );
}

/**
 * @throws AdminError `invalid_request` for JSON that parsers read differently, or that is nested
 *   too deeply
 */
function parsed(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  try {
    scanJson(bytes);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    throw new AdminError('invalid_request', problems.get(error.reason) ?? 'Send a JSON object.');
  }
  return JSON.parse(bytes.toString());
}

const problems: ReadonlyMap<unknown, string> = new Map([
  ['invalid_json', 'The body is not valid JSON in UTF-8.'],
  ['invalid_utf8', 'The body is not valid JSON in UTF-8.'],
  ['bom', 'The body begins with a byte order mark. Send it without one.'],
  ['duplicate_key', 'The body names a member twice in one object. Send each once.'],
  ['name_too_long', 'The body has a name of over 4,096 bytes.'],
  ['too_deep', 'The body is nested deeper than 64 levels.'],
  ['too_many_values', 'The body has too many values.'],
]);

function tooLarge(): AdminError {
  return new AdminError('body_too_large', `The body may have ${maxBodyBytes} bytes at most.`);
}

/**
 * As the caller sent it, the query without its question mark; Express removes the path of the mount
 * from `url`.
 */
export function targetOf(request: IncomingMessage) {
  const original: unknown = Reflect.get(request, 'originalUrl');
  const url = typeof original === 'string' ? original : (request.url ?? '');
  const end = url.indexOf('?');
  return end === -1
    ? { path: url, query: '' }
    : { path: url.slice(0, end), query: url.slice(end + 1) };
}

const aHost = 'must be a host name without scheme, port, brackets or wildcard: gateway.example';
const hostShape = /^(?:[\w.-]+|[\da-f]*:[\da-f:.]*)$/i;

/**
 * Requests for other host names are refused: a page of an attacker can let its own name resolve to
 * 127.0.0.1 (DNS rebinding), and would then have the same origin as a console or an admin interface
 * that listens there.
 */
export const hostNames: z.ZodType<readonly string[] | undefined> = z
  .array(z.string(aHost).regex(hostShape, aHost))
  .min(1, 'must have a name')
  .optional();

/**
 * Checks that the `Host` of a request is one of `hosts`. Without them any host is allowed; on a
 * loopback address only `localhost` and loopback addresses.
 *
 * @throws AdminError `cross_origin`
 */
export function checkHost(request: IncomingMessage, hosts: readonly string[] | undefined): void {
  if (hosts === undefined && !isLoopback(request.socket.localAddress ?? '')) return;
  const { host = request.headers[':authority'] } = request.headers;
  const name = typeof host === 'string' ? hostNameOf(host) : undefined;
  const isOurs =
    hosts?.some((own) => own.toLowerCase() === name) ??
    (name === 'localhost' || isLoopback(name ?? ''));
  if (isOurs) return;
  throw new AdminError(
    'cross_origin',
    'There is no answer to this host name here. Use localhost or 127.0.0.1, or add the name to ' +
      'the option hosts.',
  );
}

/** `Localhost:8787` is `localhost`, `[::1]:8787` is `::1`. */
function hostNameOf(host: string): string | undefined {
  const found = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d{1,5})?$/i.exec(host);
  return (found?.[1] ?? found?.[2])?.toLowerCase();
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(address);
}
