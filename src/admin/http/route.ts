/** The definition of a route: its path, the access it needs, its schemas, and what it runs. */
import type { z } from 'zod';
import type { Admin } from '../admin.ts';
import { AdminError } from '../admin-error.ts';
import type { AdminAction } from '../audit.ts';
import type { AdminAccess } from './access.ts';
import type { CsvExport } from './exports.ts';
import type { Replies, ReplyName } from './replies.ts';

export type RouteReply<Reply = unknown> = { readonly json: Reply } | CsvExport;

export interface RouteRequest<Query, Body> {
  readonly admin: Admin;
  readonly access: AdminAccess;
  /** The part of the path that the route names `{id}`. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  /** Aborted when the client disconnects, which ends a long read, but not a change. */
  readonly signal: AbortSignal;
}

/** A POST either states the change that it makes, or that it makes none. */
type ReadOrChange =
  | { readonly method: 'GET'; readonly action?: undefined }
  | { readonly method: 'POST'; readonly reads: true; readonly action?: undefined }
  /** A change needs `manage`, and is written to the audit trail. */
  | { readonly method: 'POST'; readonly action: AdminAction };

export type RouteInput<Query, Body, Name extends ReplyName> = ReadOrChange & {
  /** Below `{path}/api`: `/keys/{id}/rotate`. */
  readonly path: string;
  readonly summary: string;
  readonly query: z.ZodType<Query>;
  readonly body: z.ZodType<Body>;
  /** The name of its JSON reply in the OpenAPI document; left out for CSV. */
  readonly reply?: Name;
  /** The status of its reply. Default: 200. */
  readonly status?: 200 | 201;
  run(request: RouteRequest<Query, Body>): Promise<RouteReply<Replies[Name]>>;
};

export type Route = ReadOrChange &
  Omit<RouteInput<unknown, unknown, ReplyName>, 'action' | 'method' | 'run'> & {
    /** @throws AdminError */
    run(request: RouteRequest<unknown, unknown>): Promise<RouteReply>;
  };

export function route<Query, Body, Name extends ReplyName>(
  input: RouteInput<Query, Body, Name>,
): Route {
  return {
    ...input,
    run: (request) =>
      input.run({
        ...request,
        query: checkedBy(input.query, request.query),
        body: checkedBy(input.body, request.body),
      }),
  };
}

/**
 * Checks a value with a schema. The error names the member, and never its value.
 *
 * @throws AdminError `invalid_request`
 */
export function checkedBy<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const unknownName = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const field = [...(issue?.path ?? []), ...unknownName].join('.').slice(0, 128);
  const message =
    issue?.code === 'unrecognized_keys'
      ? 'There is no member with this name.'
      : `Not valid: ${issue?.message ?? 'look at openapi.json'}.`;
  throw new AdminError('invalid_request', message, field === '' ? {} : { field });
}
