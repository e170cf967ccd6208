/** The OpenAPI 3.1 document of the admin interface, generated from the rows of its routes. */
import { z } from 'zod';
import type { ReplyName } from './replies.ts';
import { nowQuery, type Route, schemaOf } from './route.ts';
import { routes } from './routes.ts';

/** A JSON document. */
export type OpenApiDocument = Readonly<Record<string, unknown>>;

/**
 * The document of `{path}/api`, also served at `/openapi.json` and in `dist/admin-openapi.json`.
 * The schemas of its replies are loaded by the first call.
 */
export async function adminOpenApi(): Promise<OpenApiDocument> {
  const { default: schemas } = await import('./reply-schemas.json', { with: { type: 'json' } });
  const paths: Record<string, Record<string, unknown>> = {
    '/session': {
      get: readOf('session', 'Who is signed in, and what this host supports', refTo('Session')),
    },
    '/events': { get: eventsOf() },
    '/openapi.json': { get: readOf('openapi', 'This document', anyDocument) },
  };
  for (const route of routes) {
    const path = paths[route.path] ?? {};
    path[route.method.toLowerCase()] = operationOf(route);
    paths[route.path] = path;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate admin',
      version: '0.1.0',
      description: 'Amounts are decimal strings of nanos; times are Unix milliseconds.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers,
    security: [{ host: [] }, { token: [] }],
    paths,
    components: {
      schemas,
      responses: {
        Error: {
          description: 'Why the request was refused or failed',
          content: jsonOf(refTo('Error')),
        },
      },
      securitySchemes,
    },
  };
}

const securitySchemes = {
  host: { type: 'apiKey', in: 'cookie', name: 'host', description: 'The host’s sign-in' },
  token: { type: 'http', scheme: 'bearer', description: '`admin.token` of `tollgate serve`' },
} as const;

const servers = [
  { url: '/admin/api', description: 'Below the path where the handler is mounted' },
  { url: '/console/api', description: 'That of `tollgate serve`' },
] as const;

const anyDocument = {
  type: 'object',
  properties: { openapi: { type: 'string' } },
  required: ['openapi'],
} as const;

function refTo(name: ReplyName): object {
  return { $ref: `#/components/schemas/${name}` };
}

function operationOf(route: Route): object {
  const { method, path, summary, query, body, reply, status = 200 } = route;
  const isChange = method === 'POST';
  const description = isChange ? 'Done' : summary;
  const content = reply === undefined ? textOf('text/csv') : jsonOf(refTo(reply));
  return {
    operationId: nameOf(route),
    summary,
    parameters: [
      ...(path.includes('{id}') ? [idParameter] : []),
      ...(isChange ? [adminHeader] : parametersOf(query)),
    ],
    ...(isChange ? { requestBody: { required: true, content: jsonOf(schemaOf(body)) } } : {}),
    responses: responsesOf({ [status]: { description, content } }),
  };
}

function responsesOf(responses: object): object {
  return { ...responses, default: { $ref: '#/components/responses/Error' } };
}

function nameOf({ method, path }: Route): string {
  const words = path.split(/[^A-Za-z]+/).filter((word) => word !== '');
  return [method.toLowerCase(), ...words].join('_');
}

const idParameter = { name: 'id', in: 'path', required: true, schema: { type: 'string' } } as const;
const header = { name: 'x-tollgate-admin', in: 'header' } as const;
const adminHeader = { ...header, required: true, schema: { const: '1' } } as const;

function parametersOf(query: z.ZodType): readonly object[] {
  const { properties, required } = objectSchema.parse(schemaOf(query));
  return Object.entries(properties).map(([name, schema]) => {
    return { name, in: 'query', required: required.includes(name), schema };
  });
}

const objectSchema = z.object({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
});

function jsonOf(schema: object): object {
  return { 'application/json': { schema } };
}

function textOf(type: string): object {
  return { [type]: { schema: { type: 'string' } } };
}

function readOf(operationId: string, summary: string, reply: object): object {
  const ok = { description: summary, content: jsonOf(reply) };
  return { operationId, summary, responses: responsesOf({ '200': ok }) };
}

function eventsOf(): object {
  return {
    operationId: 'events',
    summary: 'The live figures as server-sent events',
    parameters: parametersOf(nowQuery),
    responses: responsesOf({
      '200': {
        description: 'A stream of events named now, whose data is #/components/schemas/Now',
        content: textOf('text/event-stream'),
      },
      '204': { description: 'This gateway is closed or being closed' },
    }),
  };
}
