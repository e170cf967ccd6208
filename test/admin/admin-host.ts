/** An admin library over memory stores and a fake clock, and a server that mounts its handler. */
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Admin, AdminOptions, AuditEntry, Authorize } from '../../src/admin/index.ts';
import { adminHandler, createAdmin } from '../../src/admin/index.ts';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import type { ErrorCode } from '../../src/errors.ts';
import type { EventListener, GatewayEvent } from '../../src/events/events.ts';
import type { Gateway } from '../../src/gateway.ts';
import { type MemoryKeyStore, memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { defaultModels } from '../support/models.ts';
import { closed, listening } from '../support/servers.ts';
import { checkReply } from './check-reply.ts';

/** An admin library with its stores. */
export interface AdminSetup {
  readonly admin: Admin;
  readonly keys: MemoryKeyStore;
  readonly clock: FakeClock;
  readonly gateway: Gateway;
  readonly entries: readonly AuditEntry[];
  /** Hands an event to the admin library, as the gateway does. */
  emit(event: GatewayEvent): void;
}

/** The admin library over stores in memory; `options` replace the default ones. */
export function adminSetup(
  options: Partial<AdminOptions> & { readonly clock?: FakeClock } = {},
): AdminSetup {
  const { clock = fakeClock() } = options;
  const keys = memoryKeyStore();
  const entries: AuditEntry[] = [];
  let listener: (event: GatewayEvent) => void = () => {};
  const { gateway: inner } = gatewayInProcess();
  const gateway: Gateway = {
    ...inner,
    subscribe: (added: EventListener) => {
      listener = added;
      return () => {
        listener = () => {};
      };
    },
  };
  const admin = createAdmin({
    gateway,
    keys,
    quota: memoryQuotaStore({ clock }),
    catalog: staticCatalog(defaultModels()),
    clock,
    onAudit: (entry) => entries.push(entry),
    ...options,
  });
  return { admin, keys, clock, gateway, entries, emit: (event) => listener(event) };
}

type RefusedEvent = Extract<GatewayEvent, { readonly type: 'call_refused' }>;

/** The event of a refused request. */
export function refusedEvent(
  keyId: string | undefined,
  code: ErrorCode,
  change: Partial<RefusedEvent> = {},
): RefusedEvent {
  const names = { group: undefined, protocol: 'chat', modelId: undefined } as const;
  const why = { code, reason: undefined, status: 403 };
  return { type: 'call_refused', requestId: 'r', keyId, ...names, ...why, ...change };
}

/** A reply as a client sees it. */
export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** What a client sends; a body that is not text is sent as JSON. */
export interface HttpCall {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A server on which the handler is mounted at `/admin`. */
export interface AdminServer {
  readonly origin: string;
  call(call: HttpCall): Promise<HttpReply>;
  close(): Promise<void>;
}

/** Signs everybody in as an operator who may manage. */
export const anyone: Authorize = () => ({ actor: 'ada', can: 'manage' });

/** Starts the server. */
export async function adminServer(
  admin: Admin,
  authorize: Authorize = anyone,
  onError: (error: unknown) => void = () => {},
  hosts?: readonly string[],
): Promise<AdminServer> {
  const named = hosts === undefined ? {} : { hosts };
  const handler = adminHandler(admin, { path: '/admin', authorize, onError, ...named });
  const server = createServer((request, response) => {
    // What a host's CORS middleware might have set.
    response.setHeader('access-control-allow-origin', '*');
    void handler(request, response);
  });
  const origin = await listening(server);
  const call = async (sent: HttpCall): Promise<HttpReply> => {
    const reply = await send(origin, sent);
    checkReply(sent, reply);
    return reply;
  };
  return { origin, call, close: () => closed(server) };
}

/** The headers of a change from a page of this origin. */
export const changing: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'x-tollgate-admin': '1',
  'sec-fetch-site': 'same-origin',
};

/** Sends a request. Not `fetch`, which adds headers of a browser. */
export function send(
  origin: string,
  { method = 'GET', path, headers = {}, body }: HttpCall,
): Promise<HttpReply> {
  return new Promise<HttpReply>((resolve, reject) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const request = httpRequest(`${origin}/admin/api${path}`, { method, headers, agent: false });
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
