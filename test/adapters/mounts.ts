/**
 * All supported ways of mounting a gateway, as data for the adapter tests and the acceptance suite.
 */
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import Router from '@koa/router';
import compression from 'compression';
import cors from 'cors';
import express5, { type Express } from 'express';
import helmet from 'helmet';
import Koa3 from 'koa';
import { koaBody } from 'koa-body';
import bodyParser from 'koa-bodyparser';
import compress from 'koa-compress';
import mount from 'koa-mount';
import { expressAdapter, expressErrorHandler } from 'tollgate/express';
import { koaAdapter } from 'tollgate/koa';
import { nodeAdapter } from 'tollgate/node';
import type { GatewayHandler } from '../../src/http.ts';
import { closed, listening } from '../support/servers.ts';
import { fastifyMounts } from './fastify/mounts.ts';
import { webMounts } from './fetch/web-mounts.ts';

// The older versions have no types; the parts used here are the same in both.
const load = createRequire(import.meta.url);

/** Express 4; `express` is version 5. */
export const express4: typeof express5 = load('express4');

/** Koa 2; `koa` is version 3. */
export const Koa2: typeof Koa3 = load('koa2');

/** One way of mounting a gateway. */
export interface Mount {
  readonly name: string;
  /** `bytes`: the gateway gets the caller's bytes. `json`: a parser of the host has read them. */
  readonly body: 'bytes' | 'json';
  /** Whether the host answers all other paths: 404 with an `x-host` header. */
  readonly hostAnswers: boolean;
  /** Whether the gateway gets Web requests, which do not show how the target was written. */
  readonly isWeb: boolean;
  /**
   * Whether the connection of an HTTP/1.0 caller is reset if its reply is cut. Other servers close
   * it, which such a caller can't tell from a complete reply.
   */
  readonly resetsCutReplies: boolean;
  start(gateway: GatewayHandler): Promise<RunningMount>;
}

/** A server on a free port. */
export interface RunningMount {
  /** `http://127.0.0.1:49152` */
  readonly origin: string;
  /** The prefix before `/v1`; empty at the root. */
  readonly base: string;
  /** The errors that reached the host's error handling; the gateway should cause none. */
  readonly reported: readonly unknown[];
  close(): Promise<void>;
}

type Listener = (gateway: GatewayHandler, report: (error: unknown) => void) => RequestListener;

const limit = '64mb';

export const mounts: readonly Mount[] = [
  defined('node:http', { hostAnswers: false }, '', (gateway) => nodeAdapter(gateway)),
  defined('node:http with a basePath', { hostAnswers: false }, '/api/llm', (gateway) =>
    nodeAdapter(gateway, { basePath: '/api/llm' }),
  ),
  ...expressMounts('Express 4', express4),
  ...expressMounts('Express 5', express5),
  ...koaMounts('Koa 2', Koa2),
  ...koaMounts('Koa 3', Koa3),
  ...fastifyMounts,
  ...webMounts,
];

function expressMounts(version: string, express: typeof express5): readonly Mount[] {
  const inApp =
    (setUp: (app: Express, gateway: GatewayHandler) => void): Listener =>
    (gateway, report) => {
      const app = express();
      setUp(app, gateway);
      app.use((_req, res) => void res.status(404).set('x-host', 'yes').send('host'));
      const onError: express5.ErrorRequestHandler = (error, _req, _res, next) => {
        report(error);
        next(error);
      };
      app.use(onError);
      return app;
    };
  const behind = (parser: express5.RequestHandler) =>
    inApp((app, gateway) => app.use(parser, expressAdapter(gateway), expressErrorHandler(gateway)));

  return [
    defined(
      `${version} at the root`,
      {},
      '',
      inApp((app, gateway) => app.use(expressAdapter(gateway))),
    ),
    defined(
      `${version} at /v1 and /v1beta`,
      {},
      '',
      inApp((app, gateway) => {
        app.use('/v1', expressAdapter(gateway));
        app.use('/v1beta', expressAdapter(gateway));
      }),
    ),
    defined(
      `${version} under a prefix`,
      {},
      '/api/llm',
      inApp((app, gateway) => app.use('/api/llm', expressAdapter(gateway))),
    ),
    defined(
      `${version} in nested routers`,
      {},
      '/api/llm',
      inApp((app, gateway) => {
        const inner = express.Router();
        inner.use('/v1', expressAdapter(gateway));
        inner.use('/v1beta', expressAdapter(gateway));
        const outer = express.Router();
        outer.use('/llm', inner);
        app.use('/api', outer);
      }),
    ),
    defined(
      `${version} before express.json()`,
      {},
      '',
      inApp((app, gateway) => app.use(expressAdapter(gateway), express.json())),
    ),
    defined(
      `${version} after express.json()`,
      { body: 'json' },
      '',
      behind(express.json({ limit })),
    ),
    defined(`${version} after express.raw()`, {}, '', behind(express.raw({ type: '*/*', limit }))),
    defined(
      `${version} after express.text()`,
      {},
      '',
      behind(express.text({ type: '*/*', limit })),
    ),
    defined(
      `${version} behind compression, helmet and cors`,
      {},
      '',
      inApp((app, gateway) =>
        app.use(
          compression(),
          helmet(),
          cors({ origin: 'https://app.example' }),
          expressAdapter(gateway),
        ),
      ),
    ),
  ];
}

function koaMounts(version: string, Koa: typeof Koa3): readonly Mount[] {
  const inApp =
    (setUp: (app: Koa3, gateway: GatewayHandler) => void): Listener =>
    (gateway, report) => {
      const app = new Koa();
      app.on('error', report);
      setUp(app, gateway);
      app.use((ctx) => {
        ctx.status = 404;
        ctx.set('x-host', 'yes');
        ctx.body = 'host';
      });
      return app.callback();
    };

  return [
    defined(
      `${version} at the root`,
      {},
      '',
      inApp((app, gateway) => app.use(koaAdapter(gateway))),
    ),
    defined(
      `${version} in koa-mount under a prefix`,
      {},
      '/api/llm',
      inApp((app, gateway) => app.use(mount('/api/llm', koaAdapter(gateway)))),
    ),
    defined(
      `${version} in koa-mount at /v1 and /v1beta`,
      {},
      '/api',
      inApp((app, gateway) => {
        app.use(mount('/api/v1', koaAdapter(gateway)));
        app.use(mount('/api/v1beta', koaAdapter(gateway)));
      }),
    ),
    defined(
      `${version} in nested koa-mounts`,
      {},
      '/api',
      inApp((app, gateway) => {
        const inner = new Koa();
        inner.use(mount('/v1', koaAdapter(gateway)));
        inner.use(mount('/v1beta', koaAdapter(gateway)));
        app.use(mount('/api', inner));
      }),
    ),
    defined(
      `${version} in @koa/router with a prefix`,
      {},
      '/api',
      inApp((app, gateway) => {
        const router = new Router({ prefix: '/api' });
        router.all('/{*rest}', koaAdapter(gateway, { basePath: '/api' }));
        app.use(router.routes());
      }),
    ),
    defined(
      `${version} after koa-bodyparser`,
      {},
      '',
      inApp((app, gateway) => app.use(bodyParser({ jsonLimit: limit })).use(koaAdapter(gateway))),
    ),
    defined(
      `${version} after koa-body`,
      { body: 'json' },
      '',
      inApp((app, gateway) => app.use(koaBody({ jsonLimit: limit })).use(koaAdapter(gateway))),
    ),
    defined(
      `${version} behind koa-compress`,
      {},
      '',
      inApp((app, gateway) => app.use(compress()).use(koaAdapter(gateway))),
    ),
  ];
}

function defined(
  name: string,
  { body = 'bytes', hostAnswers = true }: Partial<Pick<Mount, 'body' | 'hostAnswers'>>,
  base: string,
  listener: Listener,
): Mount {
  return {
    name,
    body,
    hostAnswers,
    isWeb: false,
    resetsCutReplies: true,
    start: async (gateway) => {
      const reported: unknown[] = [];
      const server = createServer(listener(gateway, (error) => reported.push(error)));
      return { origin: await listening(server), base, reported, close: () => closed(server) };
    },
  };
}
