/** Checks that a reply of the admin interface is what its OpenAPI document says. */
import { expect } from 'vitest';
import type { z } from 'zod';
import { errorReply } from '../../src/admin/http/replies/channels.ts';
import { nowReply, sessionReply } from '../../src/admin/http/replies/now.ts';
import { routeAt } from '../../src/admin/http/routes.ts';
import type { HttpCall, HttpReply } from './admin-host.ts';

/** Fails if the reply lacks a member, or has an extra one or one of another type. */
export function checkReply({ method = 'GET', path }: HttpCall, reply: HttpReply): void {
  const { status, headers, text } = reply;
  if (method === 'HEAD') return;
  const [route = ''] = path.split('?');
  if (headers['content-type']?.startsWith('text/event-stream')) {
    for (const data of text.matchAll(/^event: now\ndata: (.+)$/gm)) check(nowReply, data[1], path);
    return;
  }
  if (status >= 400) return check(errorReply, text, path);
  if (route === '/openapi.json') return;
  if (route === '/session') return check(sessionReply, text, path);
  const found = routeAt(method, route).route;
  expect(status, path).toBe(found.status ?? 200);
  if (found.reply === undefined) expect(headers['content-type'], path).toContain('text/csv');
  else check(found.reply, text, path);
}

function check(schema: z.ZodType, text: string | undefined, path: string): void {
  const { error } = schema.safeParse(JSON.parse(text ?? ''));
  expect(error?.issues ?? [], `${path}: ${text?.slice(0, 300)}`).toEqual([]);
}
