/** A console over an admin library with a fake clock, on a server of `node:http`. */
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AuditEntry } from '../../src/admin/index.ts';
import {
  type ConsoleHandlerOptions,
  type ConsoleSignIn,
  consoleHandler,
  consoleSignIn,
} from '../../src/console/index.ts';
import type { FakeClock } from '../../src/testing/fake-clock.ts';
import { adminSetup, type HttpReply } from '../admin/admin-host.ts';
import { closed, listening } from '../support/servers.ts';

/** What a client sends, byte for byte. */
export interface ConsoleCall {
  readonly method?: string;
  /** From the root: `/console/api/now`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A console that listens at `origin`, at `/console` unless the options say another path. */
export interface ConsoleServer {
  readonly origin: string;
  readonly signIn: ConsoleSignIn;
  readonly clock: FakeClock;
  readonly errors: readonly unknown[];
  /** The audit trail. */
  readonly entries: readonly AuditEntry[];
  call(call: ConsoleCall): Promise<HttpReply>;
  /** Exchanges a new link; returns the cookie as a browser would send it. */
  cookie(): Promise<string>;
  close(): Promise<void>;
}

/** The headers of a change from a page of this origin. */
export const changing: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'x-tollgate-admin': '1',
  'sec-fetch-site': 'same-origin',
};

/** Starts a console with a sign-in of its own, or with what the options say. */
export async function consoleServer(
  options: Partial<ConsoleHandlerOptions> = {},
): Promise<ConsoleServer> {
  const { admin, clock, entries } = adminSetup({ title: 'The <gateway>' });
  const signIn = consoleSignIn({ clock });
  const errors: unknown[] = [];
  const { path = '/console', hosts, authorize } = options;
  const mount = {
    path,
    onError: (error: unknown) => errors.push(error),
    ...(hosts === undefined ? {} : { hosts }),
  };
  const handler = consoleHandler(
    admin,
    authorize === undefined ? { ...mount, signIn } : { ...mount, authorize },
  );
  const server = createServer((request, response) => {
    // What a host's CORS middleware might have set.
    response.setHeader('access-control-allow-origin', '*');
    void handler(request, response);
  });
  const origin = await listening(server);
  const call = (sent: ConsoleCall) => send(origin, sent);
  return {
    origin,
    signIn,
    clock,
    errors,
    entries,
    call,
    cookie: async () => {
      const token = tokenOf(signIn.link(`${origin}${path}`));
      const { headers } = await call({
        method: 'POST',
        path: `${path}/sign-in`,
        headers: changing,
        body: { token },
      });
      return cookieOf(headers);
    },
    close: () => closed(server),
  };
}

/** The token of a link. */
export function tokenOf(link: string): string {
  return new URLSearchParams(new URL(link).hash.slice(1)).get('token') ?? '';
}

/** The name and value of the cookie that a reply sets. */
export function cookieOf(headers: IncomingMessage['headers']): string {
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

/** Not `fetch`, which normalises paths and adds headers of a browser. */
export function send(
  origin: string,
  { method = 'GET', path, headers = {}, body }: ConsoleCall,
): Promise<HttpReply> {
  return new Promise((resolve, reject) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const { hostname, port } = new URL(origin);
    const request = httpRequest({ hostname, port, path, method, headers, agent: false });
    // Node sends the bodies of some methods without a length.
    if (text !== undefined) request.setHeader('content-length', Buffer.byteLength(text));
    request.once('error', reject);
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const { statusCode: status = 0, headers: received } = response;
        resolve({ status, headers: received, text: Buffer.concat(chunks).toString() });
      });
    });
    request.end(text);
  });
}
