/** Checks that a reply of the admin interface is what its OpenAPI document says. */
import { expect } from 'vitest';
import { z } from 'zod';
import type { ReplyName } from '../../src/admin/http/replies.ts';
import schemas from '../../src/admin/http/reply-schemas.json' with { type: 'json' };
import { routeAt } from '../../src/admin/http/routes.ts';
import type { HttpCall, HttpReply } from './admin-host.ts';

/** Fails if the reply lacks a member, or has an extra one or one of another type. */
export function checkReply({ method = 'GET', path }: HttpCall, reply: HttpReply): void {
  const { status, headers, text } = reply;
  if (method === 'HEAD') return;
  const [route = ''] = path.split('?');
  if (headers['content-type']?.startsWith('text/event-stream')) {
    for (const data of text.matchAll(/^event: now\ndata: (.+)$/gm)) check('Now', data[1], path);
    return;
  }
  if (status >= 400) return check('Error', text, path);
  if (route === '/openapi.json') return;
  if (route === '/session') return check('Session', text, path);
  const found = routeAt(method, route).route;
  expect(status, path).toBe(found.status ?? 200);
  if (found.reply === undefined) expect(headers['content-type'], path).toContain('text/csv');
  else check(found.reply, text, path);
}

function check(name: ReplyName, text: string | undefined, path: string): void {
  const { error } = schemaOf(name).safeParse(JSON.parse(text ?? ''));
  expect(error?.issues ?? [], `${path}: ${text?.slice(0, 300)}`).toEqual([]);
}

const made = new Map<ReplyName, z.ZodType>();

function schemaOf(name: ReplyName): z.ZodType {
  const known = made.get(name);
  if (known !== undefined) return known;
  const text = JSON.stringify({ $ref: `#/components/schemas/${name}`, $defs: schemas });
  const schema = z.fromJSONSchema(JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')));
  made.set(name, schema);
  return schema;
}
