// suite: slow host
/** The OpenAPI document is valid, and names every route with what it accepts. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterEach, describe, expect, it } from 'vitest';
import { routes } from '../../../src/admin/http/routes.ts';
import { adminOpenApi } from '../../../src/admin/index.ts';
import { type AdminServer, adminServer, adminSetup } from '../admin-host.ts';

let server: AdminServer | undefined;

afterEach(() => server?.close());

describe('the OpenAPI document', () => {
  it('is valid by the schema of OpenAPI 3.1', async () => {
    const document = JSON.parse(JSON.stringify(await adminOpenApi()));

    expect(await new Validator().validate(document)).toMatchObject({ valid: true });
    expect(document.openapi).toBe('3.1.0');
  });

  it('would not be valid without its title', async () => {
    const document = { ...JSON.parse(JSON.stringify(await adminOpenApi())), info: {} };

    expect(await new Validator().validate(document)).toMatchObject({ valid: false });
  });

  it('has every route, by its method', async () => {
    const { paths } = await adminOpenApi();

    for (const { method, path } of routes) {
      expect(paths, path).toHaveProperty([path, method.toLowerCase(), 'operationId']);
    }
  });

  it('describes the answers of every route, and has no dangling reference', async () => {
    const document = JSON.parse(JSON.stringify(await adminOpenApi()));
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g);

    for (const [, kind = '', name = ''] of references) {
      expect(document.components[kind], name).toHaveProperty(name);
    }
    for (const { method, path, status = 200, reply } of routes) {
      const { content } = document.paths[path][method.toLowerCase()].responses[status];
      const { schema } = Object.values<Record<string, object>>(content)[0] ?? {};

      expect(schema, path).not.toEqual({ type: 'object' });
      if (reply !== undefined) expect(JSON.stringify(schema), path).toMatch(/\$ref|properties/);
    }
  });

  it('types numbers as numbers, and lists what a report is grouped by', async () => {
    const { paths } = JSON.parse(JSON.stringify(await adminOpenApi()));
    const schemaOf = (path: string, wanted: string) =>
      paths[path].get.parameters.find(({ name }: { name: string }) => name === wanted).schema;

    for (const { method, path } of routes.filter((route) => route.method === 'GET')) {
      for (const { name, schema } of paths[path][method.toLowerCase()].parameters) {
        if (/Ms$|^limit$/.test(name)) expect(schema, path).toMatchObject({ type: 'integer' });
      }
    }
    const usage = new RegExp(schemaOf('/usage', 'by').pattern);
    const refusals = new RegExp(schemaOf('/refusals', 'by').pattern);
    expect(['key', 'key,day', 'metadata.team,model'].every((by) => usage.test(by))).toBe(true);
    expect(['', 'reason', 'key,day,model'].some((by) => usage.test(by))).toBe(false);
    expect(refusals.test('code,reason') && !refusals.test('channel')).toBe(true);
  });

  it('is served as it is shipped', async () => {
    server = await adminServer(adminSetup().admin);

    const { status, text } = await server.call({ path: '/openapi.json' });

    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(await adminOpenApi())));
  });
});
