/** The OpenAPI 3.1 document of the interface, made from the schemas of its routes. */
import { z } from 'zod';
import { adminStatusOf } from '../admin-error.ts';
import type { Route } from './route.ts';
import { routes } from './routes.ts';

/** A JSON document. */
export type OpenApiDocument = Readonly<Record<string, unknown>>;

/** The document of `{path}/api`, as `GET /openapi.json` and `dist/admin-openapi.json` have it. */
export function adminOpenApi(): OpenApiDocument {
  const paths: Record<string, Record<string, unknown>> = {
    '/session': { get: readOf('session', 'Who is signed in, and what there is to see') },
    '/events': { get: eventsOf() },
    '/openapi.json': { get: readOf('openapi', 'This document') },
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
    servers: [{ url: '/admin/api', description: 'Below the path where the handler is mounted' }],
    security: [{ host: [] }],
    paths,
    components: {
      schemas: { Error: errorSchema },
      responses: {
        Error: {
          description: 'Why it was refused or failed',
          content: jsonOf({ $ref: '#/components/schemas/Error' }),
        },
      },
      securitySchemes: {
        host: { type: 'apiKey', in: 'cookie', name: 'host', description: 'As the host signs in' },
      },
    },
  };
}

const errorSchema = {
  type: 'object',
  required: ['error'],
  additionalProperties: false,
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      additionalProperties: false,
      properties: {
        code: { enum: Object.keys(adminStatusOf) },
        message: { type: 'string' },
        field: { type: 'string' },
      },
    },
  },
} as const;

function operationOf(route: Route): object {
  const { method, path, summary, query, body } = route;
  const isChange = method === 'POST';
  const status = path === '/keys' || path.endsWith('/rotate') ? '201' : '200';
  return {
    operationId: nameOf(route),
    summary,
    parameters: [
      ...(path.includes('{id}') ? [idParameter] : []),
      ...(isChange ? [adminHeader] : parametersOf(query)),
    ],
    ...(isChange ? { requestBody: { required: true, content: jsonOf(schemaOf(body)) } } : {}),
    responses: {
      [isChange ? status : '200']: {
        description: 'Done',
        content: path.endsWith('.csv')
          ? { 'text/csv': { schema: { type: 'string' } } }
          : jsonOf({ type: 'object' }),
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

function schemaOf(schema: z.ZodType): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
}

function jsonOf(schema: object): object {
  return { 'application/json': { schema } };
}

function readOf(operationId: string, summary: string): object {
  const ok = { description: summary, content: jsonOf({ type: 'object' }) };
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
    responses: {
      '200': {
        description: 'A stream of the event now',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
      default: { $ref: '#/components/responses/Error' },
    },
  };
}
