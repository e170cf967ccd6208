/** The definition of a route: its path, the access it needs, its schemas, and what it runs. */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { OwnerRateLimits } from '../../ports/keys/key-owner.ts';
import { quotaPeriods } from '../../ports/keys/key-store.ts';
import { printableId } from '../../ports/limits/quota-input.ts';
import type { KeyRateLimits } from '../../ports/limits/rates.ts';
import { keyRatesSchema, ownerRatesSchema } from '../../ports/limits/rates-schema.ts';
import { matching, strict } from '../../ports/set-up.ts';
import { columnGroupings, type UsageGrouping } from '../../stores/sql/usage/report.ts';
import type { Admin } from '../admin.ts';
import { AdminError, type AdminProblem, maxProblems, rowsError } from '../admin-error.ts';
import type { AdminAction } from '../audit/audit.ts';
import { rowsAtOnce } from '../keys/batch.ts';
import { nowRanges } from '../now/now.ts';
import type { Replies, ReplyName } from './replies.ts';
import type { CsvExport } from './reply.ts';
import type { AdminAccess } from './request.ts';

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
  /** The size of its body at most. Default: 64 KiB. */
  readonly maxBodyBytes?: number;
  run(request: RouteRequest<Query, Body>): MaybePromise<Replies[Name] | CsvExport>;
};

export type Route = ReadOrChange &
  Omit<RouteInput<unknown, unknown, ReplyName>, 'action' | 'method' | 'run'> & {
    /** @throws AdminError */
    run(request: RouteRequest<unknown, unknown>): MaybePromise<unknown>;
  };

/** A route without the name of a JSON reply exports a file. */
export function isExport({ reply }: Route, _answer: unknown): _answer is CsvExport {
  return reply === undefined;
}

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

/** Checks a value with a schema. The error names the member, and never its value. */
export function checkedBy<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = problemsIn(result.error);
  const { field = '', message = 'Not valid: look at openapi.json.' } = problems[0] ?? {};
  const named = field === '' ? {} : { field };
  const all = problems.length < 2 ? {} : { problems };
  throw new AdminError('invalid_request', message, { ...named, ...all });
}

/** Checks the rows of a list with a schema, some in each turn of the event loop. */
export async function checkedRows<T>(
  schema: z.ZodType<T>,
  rows: readonly unknown[],
): Promise<readonly T[]> {
  const problems: AdminProblem[] = [];
  const checked: T[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % rowsAtOnce === 0) await setImmediate();
    const { data, error } = schema.safeParse(row);
    if (data !== undefined) checked.push(data);
    for (const problem of error === undefined ? [] : problemsIn(error)) {
      problems.push({ row: index + 1, ...problem });
    }
    if (problems.length >= maxProblems) break;
  }
  if (problems[0] !== undefined) throw rowsError(problems, problems[0]);
  return checked;
}

function problemsIn({ issues }: z.core.$ZodError): readonly AdminProblem[] {
  return issues.slice(0, maxProblems).map((issue) => {
    const isUnknown = issue.code === 'unrecognized_keys';
    const path = [...issue.path, ...(isUnknown ? issue.keys.slice(0, 1) : [])];
    return {
      field: path.join('.').slice(0, 128),
      message: isUnknown ? 'There is no member with this name.' : `Not valid: ${issue.message}.`,
    };
  });
}

const nothing: z.ZodType<object> = strict('must be an empty object', {});
/** What routes begin with: no parameters and no body, unless they state their own. */
export const get = { method: 'GET', query: nothing, body: nothing } as const;
export const post = { ...get, method: 'POST' } as const;

export const nowQuery = z.strictObject({ range: z.enum(nowRanges).exactOptional() });

const nanosForm = 'must be a decimal string of nanos';
export const nanos = matching(/^\d{1,16}$/, nanosForm).transform(BigInt);
export const signedNanos = matching(/^-?\d{1,16}$/, nanosForm).transform(BigInt);

/** The id of a key or a subject. */
export const anId = matching(/^[!-~]{1,128}$/, `must be ${printableId}`);

/** Labels of a key or an owner. */
export const labels = z.record(z.string().max(128), z.string().max(512));

/** The period of a limit. */
export const limitPeriod = {
  period: z.enum(quotaPeriods).exactOptional(),
  anchorDay: z.int().min(1).max(31).exactOptional(),
};

/** Rate limits of a key. The library checks them; their form is in the document. */
export const keyRates = keyRatesSchema.pipe(z.custom<readonly KeyRateLimits[]>());

/** Rate limits of an owner. */
export const ownerRates = ownerRatesSchema.pipe(z.custom<readonly OwnerRateLimits[]>());

/** Any other id. */
export const shortText = z
  .string('must be text of 1 to 256 characters')
  .min(1, 'must be text of 1 to 256 characters')
  .max(256, 'must be text of 1 to 256 characters');

/** The JSON schema of what a schema accepts. */
export function schemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
}

/** A number as a parameter, which is text until it is read. */
export const integer = matching(/^\d{1,16}$/, 'must be a whole number')
  .meta({ type: 'integer', minimum: 0, pattern: undefined })
  .transform(Number);

export const paging = {
  after: z.string().max(256).exactOptional(),
  limit: integer.exactOptional(),
};

/** The calls or refusals that a report or a list selects. */
export const selection = {
  keyId: shortText.exactOptional(),
  group: shortText.exactOptional(),
  modelId: shortText.exactOptional(),
};

const metadataForm = 'must be a name and a value: user=ada';
/** Calls by their metadata: the name is what comes before the first `=`. */
export const metadataFilter = matching(/^[^=]+=/, metadataForm)
  .max(512, metadataForm)
  .transform((text) => {
    const at = text.indexOf('=');
    return { name: text.slice(0, at), value: text.slice(at + 1) };
  });

export function usageGroupingOf(text: string): UsageGrouping | undefined {
  const known = columnGroupings.find((grouping) => grouping === text);
  const [, name] = /^metadata\.(.+)$/s.exec(text) ?? [];
  return known ?? (name === undefined ? undefined : `metadata.${name}`);
}

interface GroupingsForm {
  readonly form: string;
  readonly maxLength: number;
  /** The patterns of the names, for the document. */
  readonly names: readonly string[];
}

/** One grouping, or two with a comma between them. */
export function groupings<Grouping extends string>(
  { form, maxLength, names }: GroupingsForm,
  groupingOf: (text: string) => Grouping | undefined,
) {
  const one = `(${names.join('|')})`;
  return z
    .string(form)
    .max(maxLength)
    .meta({ pattern: `^${one}(,${one})?$` })
    .transform((text, { addIssue }): Grouping | readonly [Grouping, Grouping] => {
      const parts = text.split(',');
      const [first, second] = parts.map(groupingOf);
      if (first !== undefined && parts.length === 1) return first;
      if (first !== undefined && second !== undefined && parts.length === 2) {
        return [first, second];
      }
      addIssue({ code: 'custom', message: form });
      return z.NEVER;
    });
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
