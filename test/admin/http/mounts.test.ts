// suite: slow host
/** The handler on every host: behind body parsers, before them, and without any. */
import { createServer, type RequestListener, type Server } from 'node:http';
import express5 from 'express';
import Koa3 from 'koa';
import { koaBody } from 'koa-body';
import bodyParser from 'koa-bodyparser';
import { afterEach, describe, expect, it } from 'vitest';
import { type AdminHandler, adminHandler } from '../../../src/admin/index.ts';
import { express4, Koa2 } from '../../adapters/mounts.ts';
import { closed, listening } from '../../support/servers.ts';
import { adminSetup, anyone, changing, type HttpReply, send } from '../admin-host.ts';

type Listener = (handler: AdminHandler) => RequestListener;

function onExpress(express: typeof express5, parsers: readonly string[]): Listener {
  return (handler) => {
    const app = express();
    if (parsers.includes('json')) app.use(express.json());
    if (parsers.includes('text')) app.use(express.text({ type: '*/*' }));
    if (parsers.includes('raw')) app.use(express.raw({ type: '*/*' }));
    app.use(handler);
    app.use((_request, response) => {
      response.status(404).set('x-host', 'express').json({});
    });
    return app;
  };
}

/** As docs/admin.md says. */
function onKoa(Koa: typeof Koa3, parser: 'none' | 'koa-bodyparser' | 'koa-body'): Listener {
  return (handler) => {
    const app = new Koa();
    if (parser === 'koa-bodyparser') app.use(bodyParser());
    if (parser === 'koa-body') app.use(koaBody());
    app.use(async (context, next) => {
      if (!context.path.startsWith('/admin/')) return next();
      context.respond = false;
      Object.assign(context.req, { body: Reflect.get(context.request, 'body') });
      await handler(context.req, context.res);
    });
    app.use((context) => {
      context.status = 404;
      context.set('x-host', 'koa');
    });
    return app.callback();
  };
}

const hosts: readonly (readonly [string, Listener])[] = [
  [
    'node:http',
    (handler) => (request, response) => {
      if (request.url?.startsWith('/admin/') === true) void handler(request, response);
      else response.writeHead(404, { 'x-host': 'node' }).end();
    },
  ],
  ...(
    [
      [4, express4],
      [5, express5],
    ] as const
  ).flatMap(([version, express]) =>
    [[], ['json'], ['text'], ['raw']].map(
      (parsers) =>
        [
          `Express ${version} behind ${parsers[0] ?? 'nothing'}`,
          onExpress(express, parsers),
        ] as const,
    ),
  ),
  ...(
    [
      [2, Koa2],
      [3, Koa3],
    ] as const
  ).flatMap(([version, Koa]) =>
    (['none', 'koa-bodyparser', 'koa-body'] as const).map(
      (parser) => [`Koa ${version} behind ${parser}`, onKoa(Koa, parser)] as const,
    ),
  ),
];

let server: Server | undefined;

afterEach(async () => {
  if (server !== undefined) await closed(server);
  server = undefined;
});

async function open(listener: Listener) {
  const setup = adminSetup();
  server = createServer(listener(adminHandler(setup.admin, { path: '/admin', authorize: anyone })));
  return { ...setup, origin: await listening(server) };
}

describe.each(hosts)('on %s', (_name, listener) => {
  it('serves reads and changes, and refuses a wrong change', async () => {
    const { admin, origin } = await open(listener);
    const body = { id: 'ada', group: 'stäff', limitNanos: '5' };
    const post = (path: string, sent: unknown): Promise<HttpReply> =>
      send(origin, { method: 'POST', path, headers: changing, body: sent });

    expect((await post('/keys', body)).status).toBe(201);
    expect(await admin.keys.find(body.id)).toMatchObject({ group: 'stäff' });
    expect((await post(`/keys/${body.id}/limit`, { limitNanos: '7' })).status).toBe(200);
    const { text } = await send(origin, { path: '/keys?limit=1' });
    expect(JSON.parse(text).data).toMatchObject([{ balances: [{ limitNanos: '7' }] }]);
    expect((await post(`/keys/${body.id}/limit`, { limitNanos: '7', more: 1 })).status).toBe(400);
    expect((await post(`/keys/${body.id}/remove`, {})).status).toBe(200);
    expect((await send(origin, { path: '/keys' })).text).toContain('"data":[]');
  });

  it('leaves other paths to the host', async () => {
    const { origin } = await open(listener);

    const response = await fetch(`${origin}/adminx/api/keys`);

    expect(response.status).toBe(404);
    expect(response.headers.get('x-host')).toBeTypeOf('string');
  });
});

describe('a host whose parser keeps the body to itself', () => {
  it('gets an error that says so, and nothing changes', async () => {
    const { admin, origin, entries } = await open((handler) => {
      const app = new Koa3();
      app.use(bodyParser());
      app.use(async (context) => {
        context.respond = false;
        await handler(context.req, context.res);
      });
      return app.callback();
    });
    await admin.keys.issue('ada', { id: 'ada', group: 'staff', limitNanos: 5n });

    for (const [path, body] of [
      ['/keys/ada/disable', {}],
      ['/keys/ada/limit', { limitNanos: '9' }],
      ['/keys', { group: 'staff' }],
    ] as const) {
      const reply = await send(origin, { method: 'POST', path, headers: changing, body });

      expect(reply.status, path).toBe(400);
      expect(reply.text).toContain('parser');
    }
    expect(await admin.keys.find('ada')).toMatchObject({
      ...{ disabled: false, balances: [{ limitNanos: 5n }] },
    });
    expect(entries.slice(1).map(({ outcome }) => outcome)).toEqual([
      ...['refused', 'refused', 'refused'],
    ]);
  });
});
