/**
 * Reads what a request says: the JSON body of a change, its target, the host name that it was sent
 * to, the operator who sends it, and whether it may change something.
 */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import { isGatewayError } from '../../errors.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import { within } from '../../ports/within.ts';
import type { Admin } from '../admin.ts';
import { AdminError, isAdminError } from '../admin-error.ts';

const usualBodyBytes = 65_536;
/** The timeout for a body: the same as for the bodies of calls (docs/security.md). */
const bodyMs = 10_000;

/**
 * The parsed body. A body that a parser of the host has read is taken from `request.body`; one that
 * was read and then dropped is refused, because without its body a request may mean another change.
 */
export async function readJson(
  request: IncomingMessage,
  clock: Clock,
  maxBodyBytes = usualBodyBytes,
): Promise<unknown> {
  const stated = Number(request.headers['content-length'] ?? 0);
  if (stated > maxBodyBytes) throw tooLarge(maxBodyBytes);
  if (request.readableDidRead) return parsedBefore(Reflect.get(request, 'body'));
  return parsed(await within(bytesOf(request, maxBodyBytes), bodyMs, clock).catch(unread));
}

async function bytesOf(request: IncomingMessage, maxBodyBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxBodyBytes) throw tooLarge(maxBodyBytes);
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
async function parsed(bytes: Buffer): Promise<unknown> {
  if (bytes.length === 0) return {};
  const { scanJson } = await import('../../bytes/json/scan/scan.ts');
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

function tooLarge(maxBodyBytes: number): AdminError {
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

/**
 * Checks that the `Host` of a request is one of `hosts`. Without them any host is allowed; on a
 * loopback address only `localhost` and loopback addresses.
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

/** The operator who sends a request, and whether they may change something. */
export interface AdminAccess {
  /** Their name in the audit trail. */
  readonly actor: string;
  /** `read`: look only. `manage`: change keys, channels and models too. */
  readonly can: 'read' | 'manage';
  /**
   * A token in a header showed who it is. Browsers add none by themselves, so the page of another
   * site can't have sent the request: it needs neither `x-tollgate-admin` nor an `Origin`.
   */
  readonly via?: 'token';
}

/**
 * Returns the operator who sends a request, by the host's own sign-in. It is called for every
 * request, and once a minute for an event stream. undefined becomes a 401; an exception, or no
 * result within 5 s, a 503.
 */
export type Authorize<R extends IncomingMessage = IncomingMessage> = (
  request: R,
) => MaybePromise<AdminAccess | undefined>;

const authorizeMs = 5_000;

export async function accessOf<R extends IncomingMessage>(
  authorize: Authorize<R>,
  request: R,
  clock: Clock,
): Promise<AdminAccess> {
  let access: AdminAccess | undefined;
  try {
    access = await within(Promise.resolve(authorize(request)), authorizeMs, clock);
  } catch (cause) {
    throw new AdminError('unavailable', 'The sign-in could not be checked. Try again.', { cause });
  }
  if (access === undefined || access === null) {
    throw new AdminError('not_signed_in', 'Sign in as an operator.');
  }
  const { actor, can, via } = access;
  if (typeof actor === 'string' && actor !== '' && (can === 'read' || can === 'manage')) {
    return { actor, can, ...(via === 'token' ? { via } : {}) };
  }
  throw new AdminError('unavailable', 'authorize must return { actor, can } or undefined.');
}

/**
 * Checks that a request was made by a page of this origin, by a script that sends this header on
 * purpose, or with a token: across origins, browsers send neither the header nor JSON without a
 * CORS preflight, which this handler never allows.
 */
export function checkChange({ headers }: IncomingMessage, via?: AdminAccess['via']): void {
  if (via !== 'token' && headers['x-tollgate-admin'] !== '1') {
    throw new AdminError('cross_origin', 'Send the header x-tollgate-admin: 1.');
  }
  if (!/^application\/json(?:\s*;\s*charset="?utf-8"?)?$/i.test(headers['content-type'] ?? '')) {
    throw new AdminError('unsupported_media_type', 'Send content-type: application/json.');
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new AdminError('unsupported_media_type', 'Send the body without a content-encoding.');
  }
  if (via !== 'token' && !isSameOrigin(headers)) {
    throw new AdminError(
      'cross_origin',
      'Send the request from a page of this origin, or set the header Origin to this origin.',
    );
  }
}

/** `Sec-Fetch-Site` can't be set by scripts; without it the `Origin` must be that of this host. */
function isSameOrigin({ origin, host, ...headers }: IncomingMessage['headers']): boolean {
  if (origin === 'null') return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  const { host: originHost, protocol, origin: whole } = new URL(origin);
  return whole === origin && /^https?:$/.test(protocol) && originHost === host.toLowerCase();
}

/** Who is signed in, and what the console can show and change. */
export interface AdminSession extends AdminAccess {
  /** What the console is called. */
  readonly title: string;
  /** The server's clock, in Unix ms. */
  readonly nowMs: number;
  /** Of all amounts, by ISO 4217; undefined if the host does not state it. */
  readonly currency: string | undefined;
  /** Of the times that the console shows, by its IANA name; undefined for that of the browser. */
  readonly timeZone: string | undefined;
  /**
   * How long another process may serve a changed key from its cache, in ms; undefined if unknown.
   */
  readonly keyCacheMs: number | undefined;
  /** What this host's stores can do. */
  readonly capabilities: Admin['capabilities'];
}

export function sessionOf(admin: Admin, { actor, can }: AdminAccess): AdminSession {
  const { title, currency, timeZone, clock, keyCacheMs, capabilities } = admin;
  const host = { title, nowMs: clock.now(), currency, timeZone, keyCacheMs, capabilities };
  return { actor, can, ...host };
}
