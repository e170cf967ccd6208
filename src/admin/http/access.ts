/**
 * Who may do what over HTTP: the operator of a request, his session, and which requests may change
 * something.
 */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import { within } from '../../ports/within.ts';
import type { Admin } from '../admin.ts';
import { AdminError } from '../admin-error.ts';

/** The operator who sends a request, and whether they may change something. */
export interface AdminAccess {
  /** Their name in the audit trail. */
  readonly actor: string;
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

/** @throws AdminError `not_signed_in`, `unavailable` */
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
    throw new AdminError('not_signed_in', 'Sign in first.');
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
 *
 * @throws AdminError `cross_origin`, `unsupported_media_type`
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
  readonly title: string;
  readonly nowMs: number;
  /**
   * How long another process may serve a changed key from its cache, in ms; undefined if unknown.
   */
  readonly keyCacheMs: number | undefined;
  readonly capabilities: Admin['capabilities'];
}

export function sessionOf(admin: Admin, { actor, can }: AdminAccess): AdminSession {
  const { title, clock, keyCacheMs, capabilities } = admin;
  return { actor, can, title, nowMs: clock.now(), keyCacheMs, capabilities };
}
