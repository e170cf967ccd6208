/** Sends requests to the admin port of the process that runs with a configuration. */
import type { Clock } from '../clock.ts';
import { type JsonValue, parseJson } from '../json.ts';
import type { UpstreamClient } from '../ports/upstream-client.ts';
import { undiciClient } from '../upstream/undici-client.ts';
import type { AdminConfig } from './config/config.ts';
import { failureReason, textOfReply } from './get-text.ts';

/** What the process answered, or why it did not; `reply` is what it said if it refused. */
export type AdminAnswer =
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
  if (admin?.token === undefined) return { reason: 'admin.token is not configured' };
  const client = undiciClient();
  try {
    return await answerOf(path, body, admin, client, clock);
  } catch (error) {
    return { reason: `no process answers at ${originOf(admin)} (${failureReason(error)})` };
  } finally {
    await client.close();
  }
}

async function answerOf(
  path: string,
  body: JsonValue | undefined,
  admin: AdminConfig,
  client: UpstreamClient,
  clock: Clock,
): Promise<AdminAnswer> {
  const origin = originOf(admin);
  const request = {
    origin,
    path: `${consolePath}/api${path}`,
    method: body === undefined ? ('GET' as const) : ('POST' as const),
    headers: {
      authorization: `Bearer ${admin.token}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? [] : [Buffer.from(JSON.stringify(body))],
  };
  const { status, text } = await textOfReply(request, client, clock);
  const reply = parseJson(text);
  if (status === 200 && reply !== undefined) return { value: reply };
  return { reason: `${origin} answered ${status}`, reply };
}

/** Where the console is; its interface is at `/console/api`. */
export const consolePath = '/console';

/** As seen from this machine. For port 0, pass the port that was chosen. */
export function originOf({ host, port }: Pick<AdminConfig, 'host' | 'port'>): string {
  const reached = /^(?:0\.0\.0\.0|::)$/.test(host) ? 'localhost' : host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}
