// suite: slow host
/** Bodies after a host's parsers, as seen by the caller and the upstream. */

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import express5 from 'express';
import Koa3 from 'koa';
import { koaBody } from 'koa-body';
import { expressAdapter, expressErrorHandler } from 'tollgate/express';
import { koaAdapter } from 'tollgate/koa';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { chatBody } from '../support/bodies.ts';
import {
  bearer,
  type UnmountedGateway,
  unmountedGateway,
  vendorKey,
} from '../support/mounted-gateway.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { closed, listening } from '../support/servers.ts';
import { express4, Koa2 } from './mounts.ts';

let harness: UnmountedGateway;

beforeEach(async () => {
  harness = await unmountedGateway();
});

afterEach(() => harness.close());

const emptied = { error: { type: 'server_error', param: null, code: null } };

describe.each([
  ['Express 4', express4],
  ['Express 5', express5],
])('%s', (_name, express) => {
  it('a consumed body gets an immediate 500, an event and one warning', async () => {
    const app = express();
    app.use((req, _res, next) => void req.resume().once('end', () => next()));
    app.use(expressAdapter(harness.gateway));

    await expectGone(await serving(app));
  });

  it.each([
    ['express.raw()', () => express.raw({ type: '*/*' })],
    ['express.text()', () => express.text({ type: '*/*' })],
  ])('%s before the gateway keeps every byte', async (_parser, parser) => {
    const app = express();
    app.use(parser(), expressAdapter(harness.gateway));
    const body = '{ "contents":[{"parts":[{"text":"a\\/b é"}]}], "n":12345678901234567890 }';

    const response = await fetch(
      `${await serving(app)}/v1beta/models/native-1:generateContent`,
      post(body, vendorKey(harness.secrets.native)),
    );

    expect(response.status).toBe(200);
    expect(harness.upstream.calls[0]?.body.toString()).toBe(body);
  });

  it.each([
    ['too large a body', JSON.stringify({ ...chatBody, x: 'x'.repeat(200) }), 413],
    ['malformed JSON', '{"model":', 400],
  ])('a parser’s refusal of %s has the caller’s error format', async (_case, body, status) => {
    const app = express();
    app.use(express.json({ limit: 100 }), expressAdapter(harness.gateway));
    app.use(expressErrorHandler(harness.gateway));
    const origin = await serving(app);

    const chat = await fetch(`${origin}/v1/chat/completions`, post(body));
    const native = await fetch(`${origin}/v1beta/models/native-1:generateContent`, post(body));

    expect([chat.status, native.status]).toEqual([status, status]);
    expect(await chat.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
    expect(await native.json()).toMatchObject({
      error: { code: status, status: 'INVALID_ARGUMENT' },
    });
    expect(chat.headers.get('x-request-id')).toMatch(/^test-id-/);
  });

  it.each([
    [{ 'content-encoding': 'gzip' }, 'no gzip', 400],
    [{}, '{"refused":"by verify"}', 400],
    [{ 'content-type': 'application/x-www-form-urlencoded' }, 'a=1&b=2', 413],
    [{ 'content-type': 'text/plain', 'content-encoding': 'zip' }, 'zipped', 415],
  ])('a parser’s refusal of %o %s has a fixed message', async (headers, body, status) => {
    const app = express();
    const refuse = (_req: unknown, _res: unknown, bytes: Buffer) => {
      if (bytes.includes('refused')) throw new Error(`no ${bytes}`);
    };
    app.use(express.json({ verify: refuse }));
    app.use(express.urlencoded({ extended: true, parameterLimit: 1 }), express.text());
    app.use(expressAdapter(harness.gateway), expressErrorHandler(harness.gateway));
    const init = post(body, { ...bearer(harness.secrets.chat), ...headers });

    const response = await fetch(`${await serving(app)}/v1/chat/completions`, init);

    expect(response.status).toBe(status);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ error: { type: 'invalid_request_error' } });
    expect(text).not.toMatch(/refused|no gzip|incorrect header|zipped|\n/);
  });

  it.each([
    [{ status: 400, type: 'request.size.invalid' }, 400],
    [{ statusCode: 422 }, 400],
    [{ status: 413 }, 413],
    [{ status: 415, message: 'secret' }, 415],
    [{ status: 500 }, 'host'],
    [{ status: 399 }, 'host'],
    [{ status: '400' }, 'host'],
    ['broken', 'host'],
  ])('an error %o before the gateway ends in %s', async (error, expected) => {
    const app = express();
    app.use((_req, _res, next) => next(error), expressAdapter(harness.gateway));
    app.use(expressErrorHandler(harness.gateway));
    const host: express5.ErrorRequestHandler = (passed, _req, res, _next) => {
      res.status(418).send(passed === error ? 'host' : 'another');
    };
    app.use(host);
    const origin = await serving(app);

    const ours = await fetch(`${origin}/v1/chat/completions`, post('{}'));
    const other = await fetch(`${origin}/other`, post('{}'));

    const text = await ours.text();
    expect(ours.status === 418 ? text : ours.status).toBe(expected);
    expect(text).not.toContain('secret');
    expect(await other.text()).toBe('host');
  });
});

describe.each([
  ['Koa 2', Koa2],
  ['Koa 3', Koa3],
])('%s', (_name, Koa) => {
  it('a consumed body gets an immediate 500, an event and one warning', async () => {
    const app = new Koa();
    app.use(async (ctx, next) => {
      ctx.req.resume();
      await once(ctx.req, 'end');
      await next();
    });
    app.use(koaAdapter(harness.gateway));

    await expectGone(await serving(app.callback()));
  });
});

describe.each<readonly [string, () => RequestListener]>([
  [
    'express.json() in Express 4',
    () => express4().use(express4.json({ limit: '10mb' }), expressAdapter(harness.gateway)),
  ],
  [
    'express.json() in Express 5',
    () => express5().use(express5.json({ limit: '10mb' }), expressAdapter(harness.gateway)),
  ],
  [
    'koa-body',
    () =>
      new Koa3()
        .use(koaBody({ jsonLimit: '10mb' }))
        .use(koaAdapter(harness.gateway))
        .callback(),
  ],
])('behind %s', (_name, listener) => {
  it.each([
    100, 5_000, 200_000,
  ])('a body nested %d levels deep is a 400 to the caller, without a warning', async (levels) => {
    const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const body = `{"model":"chat-1","messages":[{"role":"user","content":"hi"}],"x":${deep}}`;

    const response = await fetch(`${await serving(listener())}/v1/chat/completions`, post(body));

    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/nested deeper than 64 levels/);
    expect(harness.events).toEqual([]);
    const codes = (await takeWarnings()).map((warning) => Reflect.get(warning, 'code'));
    expect(codes).toEqual(['TOLLGATE_BODY_REWRITTEN']);
  });
});

async function expectGone(origin: string): Promise<void> {
  const send = () => fetch(`${origin}/v1/chat/completions`, post(JSON.stringify(chatBody)));

  const [first, second] = [await send(), await send()];

  expect([first.status, second.status]).toEqual([500, 500]);
  expect(await first.json()).toMatchObject(emptied);
  expect(harness.events).toMatchObject([{ type: 'body_consumed' }, { type: 'body_consumed' }]);
  expect((await takeWarnings()).map((warning) => Reflect.get(warning, 'code'))).toEqual([
    'TOLLGATE_BODY_CONSUMED',
  ]);
}

function post(
  body: string,
  key: Readonly<Record<string, string>> = bearer(harness.secrets.chat),
): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json', ...key }, body };
}

async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => closed(server));
  return listening(server);
}
