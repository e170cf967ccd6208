// suite: quick
/** The option `azurePaths`: Azure's clients find at their paths what OpenAI's find at `/v1`. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject, parseJson } from '../../src/json.ts';
import type { Route } from '../../src/protocols/protocol.ts';
import { routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { often } from '../bytes/json-arbitrary.ts';
import {
  callerSecret,
  type GatewaySetup,
  gatewayInProcess,
} from '../support/gateway-in-process.ts';
import { channel, completeReply, model } from '../support/models.ts';
import { routeSettings } from '../support/route-settings.ts';

const { find, owns, varyingHeaders } = routesOf(protocols);
const on = { ...routeSettings, azurePaths: true };

function routeOf(path: string, method = 'POST', settings = on): Route {
  return find({ method, path, search: 'api-version=2024-10-21', headers: {} }, settings);
}

const calls = ['/chat/completions', '/embeddings', '/images/generations', '/responses'] as const;
const others = [
  ...['/responses/input_tokens', '/responses/compact', '/responses/resp_1', '/models', '/models/m'],
  ...['/audio/speech', '/files', '/responses/resp_1/input_items'],
];

describe('without the option', () => {
  it.each([...calls, ...others])('%s is the host’s', (path) => {
    for (const folder of ['/openai', '/openai/v1', '/openai/deployments/m']) {
      expect(owns(folder + path, routeSettings)).toBe(false);
      expect(routeOf(folder + path, 'POST', routeSettings).kind).toBe('refused');
    }
    expect(varyingHeaders(routeSettings)).not.toContain('api-key');
  });
});

describe('with the option', () => {
  it.each([...calls, ...others])('%s means what it means at /v1', (path) => {
    for (const folder of ['/openai', '/openai/v1']) {
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
        const { caller, ...route } = routeOf(folder + path, method);
        const { caller: _, ...known } = routeOf(`/v1${path}`, method);

        expect(route).toEqual(known);
        expect(caller.keyHeaders(on)).toEqual(['authorization', 'api-key']);
        expect(owns(folder + path, on, method)).toBe(true);
      }
    }
  });

  it.each([
    '/messages',
    '/messages/count_tokens',
    '/complete',
    '/key',
    '/nothing',
    '/m:countTokens',
  ])('%s is the host’s, because Azure has no such path there', (path) => {
    for (const folder of ['/openai', '/openai/v1', '/openai/deployments/m']) {
      expect(owns(folder + path, { ...on, ownerRoutes: true })).toBe(false);
    }
  });

  it.each(['/models', '/responses/resp_1'])('%s has no deployment', (path) => {
    expect(
      ['GET', 'POST'].map((method) => routeOf(`/openai/deployments/m${path}`, method).kind),
    ).toEqual(['refused', 'refused']);
  });

  const name = fc
    .string({ minLength: 1, maxLength: 24, unit: 'grapheme' })
    .filter((text) => text.isWellFormed() && !/[\p{Cc}/\\]|^\.{1,2}$/u.test(text));

  it('a deployment is one segment, decoded once', () => {
    fc.assert(
      fc.property(name, fc.constantFrom(...calls), (deployment, path) => {
        const route = routeOf(`/openai/deployments/${encodeURIComponent(deployment)}${path}`);

        expect(route).toMatchObject({ kind: 'call', modelId: deployment });
      }),
      often,
    );
  });

  it.each([
    'a%2Fb',
    '..',
    '.',
    '%2e%2e',
    '%2E',
    '%',
    '%00',
    'a%5Cb',
    '%E0',
  ])('a deployment of another form is refused: %s', (deployment) => {
    const route = routeOf(`/openai/deployments/${deployment}/chat/completions`);

    expect(route.kind).toBe('refused');
  });

  it('the header api-key is one that replies vary by', () => {
    expect(varyingHeaders(on)).toContain('api-key');
  });
});

/** The bodies of one call, and what they do not have. */
const bodies: Readonly<Record<(typeof calls)[number], JsonObject>> = {
  '/chat/completions': { messages: [{ role: 'user', content: 'Hi' }] },
  '/embeddings': { input: 'Hi' },
  '/images/generations': { prompt: 'a cat' },
  '/responses': { input: 'Hi' },
};

function azureGateway(setup: GatewaySetup = {}) {
  const free = { per: 'free' } as const;
  const id = (name: string, upstreamModel: string) =>
    model({
      id: name,
      price: free,
      protocols: ['chat', 'embeddings', 'images', 'responses'],
      channels: [channel({ upstreamModel })],
    });
  return gatewayInProcess({
    models: [id('gpt', 'up-1'), id('same', 'same'), id('other', 'up-2')],
    handlers: Array.from({ length: 8 }, () => completeReply('chat')),
    ...setup,
    options: { azurePaths: true, ...setup.options },
  });
}

const withKey = { 'api-key': callerSecret, 'content-type': 'application/json' };

describe('the model of a call by deployment', () => {
  const named: readonly (readonly [string, JsonObject])[] = [
    ['no model', {}],
    ['the same', { model: 'gpt' }],
    ['another one', { model: 'other' }],
    ['one that does not exist', { model: 'nothing' }],
    ['none', { model: null }],
    ['no text', { model: { id: 7 } }],
    ['an empty text', { model: '' }],
  ];

  it.each(
    calls.flatMap((path) => named.map(([what, member]) => [path, what, member] as const)),
  )('is that of the path for %s whose body has %s', async (path, _, member) => {
    for (const [deployment, upstreamModel] of [
      ['gpt', 'up-1'],
      ['same', 'same'],
    ]) {
      const gateway = azureGateway();
      await gateway.call({
        path: `/openai/deployments/${deployment}${path}`,
        search: 'api-version=2024-10-21',
        headers: withKey,
        withoutKey: true,
        body: { ...member, ...bodies[path] },
      });

      const [call] = gateway.upstream.calls;
      const request = call?.request;
      const sent = parseJson(Buffer.concat([...(request?.body ?? [])]).toString());
      expect(isJsonObject(sent) && sent.model).toBe(upstreamModel);
      expect(request?.path).toBe(`/v1${path}`);
    }
  });

  it('counts for the name of a repeated call', async () => {
    const gateway = azureGateway();
    const ask = (deployment: string) =>
      gateway.call({
        path: `/openai/deployments/${deployment}/chat/completions`,
        headers: { ...withKey, 'idempotency-key': 'one' },
        withoutKey: true,
        body: bodies['/chat/completions'],
      });

    const first = await ask('gpt');
    const again = await ask('gpt');
    const other = await ask('other');

    expect([first.status, again.status, other.status]).toEqual([200, 200, 422]);
    expect(gateway.upstream.calls.length).toBe(1);
  });
});

describe('the key of a call', () => {
  const ask = (path: string, headers: Readonly<Record<string, string>>) =>
    azureGateway().call({
      path,
      headers: { 'content-type': 'application/json', ...headers },
      withoutKey: true,
      body: { model: 'gpt', ...bodies['/chat/completions'] },
    });

  it.each([
    ['/openai/deployments/gpt/chat/completions', withKey, 200],
    ['/openai/v1/chat/completions', withKey, 200],
    ['/openai/v1/chat/completions', { authorization: `Bearer ${callerSecret}` }, 200],
    ['/openai/v1/chat/completions', { ...withKey, authorization: 'Bearer wrong' }, 401],
    ['/openai/v1/chat/completions', { 'api-key': 'wrong' }, 401],
    ['/openai/v1/chat/completions', { 'x-api-key': callerSecret }, 401],
    ['/v1/chat/completions', withKey, 401],
    ['/v1/messages', withKey, 401],
  ])('%s with %j gets %i', async (path, headers, status) => {
    const reply = await ask(path, headers);

    expect(reply.status).toBe(status);
  });

  it('is asked for in the header of Azure’s clients', async () => {
    const { text } = await ask('/openai/v1/chat/completions', {});

    expect(text).toContain('in the header `api-key: <key>`');
  });
});
