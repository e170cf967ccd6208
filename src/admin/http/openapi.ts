/** The OpenAPI 3.1 document of the admin interface, generated from the schemas of its routes. */
import { z } from 'zod';
import { namedReplies } from './replies/named.ts';
import { sessionReply } from './replies/now.ts';
import type { Route } from './route.ts';
import { routes } from './routes.ts';
import { nowQuery } from './shapes.ts';

/** A JSON document. */
export type OpenApiDocument = Readonly<Record<string, unknown>>;

/**
 * The document of `{path}/api`, also served at `/openapi.json` and in `dist/admin-openapi.json`.
 */
export function adminOpenApi(): OpenApiDocument {
  const paths: Record<string, Record<string, unknown>> = {
    '/session': {
      get: readOf('session', 'Who is signed in, and what this host supports', sessionReply),
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
      schemas: componentsOf(namedReplies),
      responses: {
        Error: {
          description: 'Why the request was refused or failed',
          content: jsonOf({ $ref: '#/components/schemas/Error' }),
        },
      },
      securitySchemes: {
        host: { type: 'apiKey', in: 'cookie', name: 'host', description: 'The host’s sign-in' },
        token: { type: 'http', scheme: 'bearer', description: '`admin.token` of `tollgate serve`' },
      },
    },
  };
}

const servers = [
  { url: '/admin/api', description: 'Below the path where the handler is mounted' },
  { url: '/console/api', description: 'That of `tollgate serve`' },
] as const;

const anyDocument = z.looseObject({ openapi: z.string() });

/** The schemas by name; a named schema inside another one becomes a reference. */
function componentsOf(named: Readonly<Record<string, z.ZodType>>): Record<string, object> {
  const registry = z.registry<{ readonly id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io: 'output', uri: refOf });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]),
  );
}

function refOf(name: string): string {
  return `#/components/schemas/${name}`;
}

/** A reference to a named schema; a schema without a name is written inline. */
function replySchemaOf(reply: z.ZodType): object {
  const [name] = Object.entries(namedReplies).find(([, schema]) => schema === reply) ?? [];
  return name === undefined ? schemaOf(reply, 'output') : { $ref: refOf(name) };
}

function operationOf(route: Route): object {
  const { method, path, summary, query, body, reply, status = 200 } = route;
  const isChange = method === 'POST';
  return {
    operationId: nameOf(route),
    summary,
    parameters: [
      ...(path.includes('{id}') ? [idParameter] : []),
      ...(isChange ? [adminHeader] : parametersOf(query)),
    ],
    ...(isChange ? { requestBody: { required: true, content: jsonOf(schemaOf(body)) } } : {}),
    responses: {
      [status]: {
        description: isChange ? 'Done' : summary,
        content:
          reply === undefined
            ? { 'text/csv': { schema: { type: 'string' } } }
            : jsonOf(replySchemaOf(reply)),
      },
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

function nameOf({ method, path }: Route): string {
  const words = path.split(/[^A-Za-z]+/).filter((word) => word !== '');
  return [method.toLowerCase(), ...words].join('_');
}

const idParameter = { name: 'id', in: 'path', required: true, schema: { type: 'string' } } as const;
const adminHeader = {
  name: 'x-tollgate-admin',
  in: 'header',
  required: true,
  schema: { const: '1' },
} as const;

function parametersOf(query: z.ZodType): readonly object[] {
  const { properties, required } = objectSchema.parse(schemaOf(query));
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

const objectSchema = z.object({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
});

function schemaOf(schema: z.ZodType, io: 'input' | 'output' = 'input'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

function jsonOf(schema: object): object {
  return { 'application/json': { schema } };
}

function readOf(operationId: string, summary: string, reply: z.ZodType): object {
  const ok = { description: summary, content: jsonOf(replySchemaOf(reply)) };
  return {
    operationId,
    summary,
    responses: { '200': ok, default: { $ref: '#/components/responses/Error' } },
  };
}

function eventsOf(): object {
  return {
    operationId: 'events',
    summary: 'The live figures as server-sent events',
    parameters: parametersOf(nowQuery),
    responses: {
      '200': {
        description: 'A stream of events named now, whose data is #/components/schemas/Now',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
      '204': { description: 'This gateway is closed or being closed' },
      default: { $ref: '#/components/responses/Error' },
    },
  };
}
