// suite: slow host first
/** Row F84 of the fault matrix: middleware of the host that wraps, reads, throws or answers. */

import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import express5 from 'express';
import Koa3 from 'koa';
import { expressAdapter, expressErrorHandler } from 'tollgate/express';
import { koaAdapter } from 'tollgate/koa';
import { nodeAdapter } from 'tollgate/node';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayHandler } from '../../../src/http.ts';
import { gate } from '../../../src/testing/providers/scripts.ts';
import { express4, mounts } from '../../adapters/mounts.ts';
import { type UnmountedGateway, unmountedGateway } from '../../support/mounted-gateway.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';
import { closed, listening } from '../../support/servers.ts';
import { type Kind, kinds, relayedReply } from '../kinds.ts';
import { countedRows } from '../rows/counted.ts';
import { answering, bytesOf, halting, modelsFor } from './calls.ts';
import { answersIn, type RawCaller, rawCaller } from './raw-caller.ts';

countedRows('F84');

afterEach(async () => {
  // Each adapter warns once that a parser ran before the gateway.
  const codes = (await takeWarnings()).map((warning) => Reflect.get(warning, 'code'));
  expect(codes.filter((code) => code !== 'TOLLGATE_BODY_REWRITTEN')).toEqual([]);
});

type PatchResponse = (response: ServerResponse) => void;

const hosts: Readonly<
  Record<string, (gateway: GatewayHandler, meddle: PatchResponse) => RequestListener>
> = {
  'node:http': (gateway, meddle) => {
    const answer = nodeAdapter(gateway);
    return (req, res) => {
      meddle(res);
      void answer(req, res);
    };
  },
  'Express 4': (gateway, meddle) => expressHost(express4, gateway, meddle),
  'Express 5': (gateway, meddle) => expressHost(express5, gateway, meddle),
  'Koa 3': (gateway, meddle) =>
    new Koa3()
      .use((ctx, next) => {
        meddle(ctx.res);
        return next();
      })
      .use(koaAdapter(gateway))
      .callback(),
};

/** What hosts do to a response, without harm to the reply. */
const responsePatches: Readonly<Record<string, PatchResponse>> = {
  'patches end': (response) => {
    const { end } = response;
    response.end = (...args: unknown[]) => Reflect.apply(end, response, args);
  },
  'patches write and does not return its result': (response) => {
    const { write } = response;
    response.write = (...args: unknown[]) => {
      Reflect.apply(write, response, args);
      return JSON.parse('{}').undefined;
    };
  },
  'patches writeHead': (response) => {
    const { writeHead } = response;
    response.writeHead = (...args: unknown[]) => {
      response.setHeader('x-host', 'yes');
      return Reflect.apply(writeHead, response, args);
    };
  },
  'adds listeners for its end': (response) => {
    response.once('close', () => {});
    response.once('finish', () => {});
  },
};

const cells = Object.keys(responsePatches).flatMap((how) =>
  Object.keys(hosts).flatMap((host) => kinds.map((kind) => ({ how, host, kind }))),
);

describe('a host that', () => {
  it.each(cells)('F84 $how · $kind · $host', { timeout: 4_000 }, async ({ how, host, kind }) => {
    const { harness, caller } = await calling(kind, (gateway) =>
      hostNamed(host)(gateway, responsePatches[how] ?? (() => {})),
    );

    await caller.until((received) => answersIn(received).length === 1);

    const [answer] = answersIn(caller.received());
    expect(answer).toMatchObject({ status: 200, body: relayedReply(kind) });
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete' });
    expect(await harness.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
  });
});

const parsing = mounts.filter(({ name }) =>
  /^(?:Express [45] after express.json|Koa 3 after koa-)/.test(name),
);
const parsed = parsing.flatMap((mount) => kinds.map((kind) => ({ mount, name: mount.name, kind })));

it.each(parsed)('F84 a parser of the host read the body first · $kind · $name', async (cell) => {
  const { mount, kind } = cell;
  const harness = await staged(kind);
  const host = await mount.start(harness.gateway);
  onTestFinished(() => host.close());
  const caller = await asking(host.origin, kind, harness);

  await caller.until((received) => answersIn(received).length === 1);

  expect(answersIn(caller.received())[0]).toMatchObject({ status: 200, body: relayedReply(kind) });
});

describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('%s', (_version, express) => {
  it('F84 an error of middleware after the gateway is handled by the host', async () => {
    const { caller, harness } = await calling('chat', (gateway) => {
      const app = express().use(expressAdapter(gateway));
      app.use(() => {
        throw new Error('host');
      });
      app.use(((_error, _req, res, _next) => {
        res.status(500).send('host');
      }) satisfies express5.ErrorRequestHandler);
      return app;
    });
    await caller.until((received) => answersIn(received).length === 1);
    caller.send('GET /other HTTP/1.1\r\nhost: a\r\n\r\n');
    await caller.until((received) => answersIn(received).length === 2);

    expect(answersIn(caller.received()).map(({ status }) => status)).toEqual([200, 500]);
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete' });
  });

  it('F85 an error of the host after the headers ends the call, charged so far', async () => {
    const fails = gate();
    const { caller, harness } = await calling(
      'chat_stream',
      (gateway) =>
        express()
          .set('env', 'test')
          .use((_req, _res, next) => {
            void fails.opened.then(() => next(new Error('host')));
            next();
          })
          .use(expressAdapter(gateway))
          .use(expressErrorHandler(gateway)),
      { halts: true },
    );
    await caller.until((received) => received.includes('Once'));

    fails.open();
    await caller.closed;

    const record = await harness.nextRecord();
    expect(record).toMatchObject({ status: 499, outcome: 'caller_left' });
    expect(record.chargeNanos).toBeGreaterThan(0n);
    expect(await harness.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
  });
});

it.each(kinds)('F85 a Koa host that answers for itself, ctx.respond = false: %s', async (kind) => {
  const { caller, harness } = await calling(kind, (gateway) =>
    new Koa3()
      .use(async (ctx, next) => {
        ctx.respond = false;
        await next();
        ctx.res.writeHead(202, { 'content-length': '4' }).end('host');
      })
      .use(koaAdapter(gateway))
      .callback(),
  );

  await caller.until((received) => answersIn(received).length === 1);
  caller.close();

  expect(answersIn(caller.received())).toMatchObject([{ status: 202, body: 'host' }]);
  expect((await harness.nextRecord()).status).toBeGreaterThan(0);
  expect(await harness.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
});

function hostNamed(
  name: string,
): (gateway: GatewayHandler, meddle: PatchResponse) => RequestListener {
  const found = hosts[name];
  if (found === undefined) throw new Error(`there is no host ${name}`);
  return found;
}

function expressHost(
  express: typeof express5,
  gateway: GatewayHandler,
  meddle: PatchResponse,
): RequestListener {
  return express()
    .use((_req, res, next) => {
      meddle(res);
      next();
    })
    .use(expressAdapter(gateway));
}

async function staged(kind: Kind, { halts = false } = {}): Promise<UnmountedGateway> {
  const harness = await unmountedGateway({}, modelsFor(kind));
  onTestFinished(() => harness.close());
  harness.upstream.enqueue(halts ? halting(kind, gate()) : answering(kind));
  return harness;
}

async function calling(
  kind: Kind,
  listener: (gateway: GatewayHandler) => RequestListener,
  options: { readonly halts?: boolean } = {},
): Promise<{ readonly harness: UnmountedGateway; readonly caller: RawCaller }> {
  const harness = await staged(kind, options);
  const server = createServer(listener(harness.gateway));
  onTestFinished(() => closed(server));
  return { harness, caller: await asking(await listening(server), kind, harness) };
}

async function asking(origin: string, kind: Kind, harness: UnmountedGateway): Promise<RawCaller> {
  const caller = await rawCaller(origin);
  onTestFinished(caller.close);
  caller.send(bytesOf(kind, harness.secrets.chat));
  return caller;
}
