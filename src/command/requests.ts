/**
 * Sends single requests, for the commands that query upstreams or the admin port of the running
 * process.
 */
import type { Clock } from '../clock.ts';
import { linksPath } from '../console/links.ts';
import { UpstreamError } from '../errors.ts';
import { type JsonValue, parseJson } from '../json.ts';
import type { UpstreamBody, UpstreamClient, UpstreamRequest } from '../ports/upstream-client.ts';
import { undiciClient } from '../upstream/undici-client.ts';
import type { AdminConfig } from './config/config.ts';

const answerMs = 15_000;
const maxBytes = 8 * 1024 * 1024;

export interface TextReply {
  readonly status: number;
  readonly text: string;
}

/** @throws UpstreamError with the reason */
export async function textOfReply(
  request: Pick<UpstreamRequest, 'method' | 'origin' | 'path' | 'headers' | 'body'>,
  client: UpstreamClient,
  clock: Clock,
): Promise<TextReply> {
  let abort = (_reason: Error): void => {};
  const cancel = clock.every(answerMs, () => abort(new UpstreamError('sent', 'headers_timeout')));
  try {
    const response = await client.send({
      ...request,
      connectTimeoutMs: 5_000,
      freshConnection: false,
      onAbort: (abortCall) => {
        abort = abortCall;
      },
    });
    return { status: response.status, text: await textOf(response.body) };
  } finally {
    cancel();
  }
}

export function failureReason(error: unknown): string {
  const reason: unknown = Reflect.get(Object(error), 'reason');
  return typeof reason === 'string' ? reason : 'failed';
}

export function textOf(body: UpstreamBody): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    body.start({
      write: (chunk) => {
        size += chunk.length;
        if (size > maxBytes) {
          body.abort();
          reject(new UpstreamError('body', 'reply_too_large'));
        } else chunks.push(Uint8Array.from(chunk));
      },
      end: () => resolve(Buffer.concat(chunks).toString()),
      fail: reject,
    });
  });
}

/** What the process answered, or why it did not; `reply` is what it said if it refused. */
type AdminAnswer =
  | { readonly value: JsonValue; readonly reason?: undefined; readonly reply?: undefined }
  | {
      readonly value?: undefined;
      readonly reason: string;
      readonly reply?: JsonValue | undefined;
    };

/** Reads a path of the admin interface, such as `/channels`; with a body, sends it as a change. */
export async function askAdmin(
  admin: AdminConfig | undefined,
  path: string,
  clock: Clock,
  body?: JsonValue,
): Promise<AdminAnswer> {
  const tokens = admin === undefined ? [] : tokensOf(admin);
  const token = tokens.find(({ can }) => can === 'manage') ?? (body === undefined && tokens[0]);
  if (admin === undefined || !token) return { reason: 'admin.token is not configured' };
  const client = undiciClient();
  try {
    return await answerOf({ path, body, token }, admin, client, clock);
  } catch (error) {
    return { reason: `no process answers at ${originOf(admin)} (${failureReason(error)})` };
  } finally {
    await client.close();
  }
}

interface AdminRequest {
  readonly path: string;
  readonly body: JsonValue | undefined;
  readonly token: AdminToken;
}

async function answerOf(
  { path, body, token }: AdminRequest,
  admin: AdminConfig,
  client: UpstreamClient,
  clock: Clock,
): Promise<AdminAnswer> {
  const origin = originOf(admin);
  const request = {
    origin,
    path: `${consolePath}${path === linksPath ? '' : '/api'}${path}`,
    method: body === undefined ? ('GET' as const) : ('POST' as const),
    headers: {
      authorization: `Bearer ${token.token}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? [] : [Buffer.from(JSON.stringify(body))],
  };
  const { status, text } = await textOfReply(request, client, clock);
  const reply = parseJson(text);
  if ((status === 200 || status === 201) && reply !== undefined) return { value: reply };
  return { reason: `${origin} answered ${status}`, reply };
}

/** Who may use the admin port by a token. */
export type AdminToken = NonNullable<AdminConfig['tokens']>[number];

/** The tokens of a configuration; a single one without a name is that of `admin.token`. */
export function tokensOf({ token, tokens = [] }: AdminConfig): readonly AdminToken[] {
  return token === undefined ? tokens : [{ name: 'admin.token', token, can: 'manage' }, ...tokens];
}

/** Where the console is; its interface is at `/console/api`. */
export const consolePath = '/console';

/** As seen from this machine. For port 0, pass the port that was chosen. */
export function originOf({ host, port }: Pick<AdminConfig, 'host' | 'port'>): string {
  const reached = /^(?:0\.0\.0\.0|::)$/.test(host) ? 'localhost' : host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}
