// suite: quick
/** The model lists: the models that a key may use, in the format and the pages of each prefix. */
import { describe, expect, it } from 'vitest';
import type { Model } from '../../../src/ports/models/catalog.ts';
import {
  type CallerReply,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { channel, model } from '../../support/models.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';

const get = (path: string, search = '') => ({ method: 'GET', path, search });

/** A native model of this id. */
const native = (id: string): Model => model({ id, protocols: ['native'] });

async function names(
  harness: InProcessGateway,
  search: string,
): Promise<{ names: string[]; token?: string }> {
  const { text } = await harness.call(get('/v1beta/models', search));
  const { models, nextPageToken, ...rest } = JSON.parse(text);
  expect(rest).toEqual({});
  return {
    names: models.map(({ name }: { name: string }) => name),
    ...(nextPageToken === undefined ? {} : { token: nextPageToken }),
  };
}

describe('GET /v1beta/models', () => {
  const many = Array.from({ length: 120 }, (_, index) => native(`m${index}`));

  it.each([
    ['', [50, 50, 20]],
    ['pageSize=0', [50, 50, 20]],
    ['pageSize=', [50, 50, 20]],
    ['pageSize=1000', [120]],
    ['pageSize=999999999', [120]],
    ['pageSize=40', [40, 40, 40]],
    ['pageSize=119', [119, 1]],
  ])('comes in pages, the last without a token: ?%s', async (search, sizes) => {
    const harness = gatewayInProcess({ models: many });

    const pages: (readonly string[])[] = [];
    let token: string | undefined = '';
    while (token !== undefined && pages.length < 10) {
      const page = await names(harness, `${search}&pageToken=${token}`);
      pages.push(page.names);
      token = page.token;
    }

    expect(pages.map(({ length }) => length)).toEqual(sizes);
    expect(pages.flat()).toEqual(many.map(({ id }) => `models/${id}`));
  });

  it('is empty, without a token, if there is no model', async () => {
    expect(await names(gatewayInProcess({ models: [] }), '')).toEqual({ names: [] });
    expect(await takeWarnings()).toHaveLength(1);
  });

  it.each([
    'pageSize=-1',
    'pageSize=ten',
    'pageSize=1.5',
    'pageToken=nonsense',
    'pageToken=%00',
  ])('refuses ?%s, and names the parameter', async (search) => {
    const { status, text } = await gatewayInProcess({ models: many }).call(
      get('/v1beta/models', search),
    );

    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({ status: 'INVALID_ARGUMENT' });
    expect(text).toContain(search.split('=')[0]);
  });

  it('continues after the model that its token names, whatever changed before it', async () => {
    const first = gatewayInProcess({ models: many.slice(0, 10) });
    const { token } = await names(first, 'pageSize=3');
    const second = gatewayInProcess({ models: [native('new'), ...many.slice(2, 10)] });

    const page = await names(second, `pageSize=2&pageToken=${token}`);

    expect(page.names).toEqual(['models/m3', 'models/m4']);
  });

  it('lists each model in Google’s format', async () => {
    const full = model({
      id: 'g',
      protocols: ['native'],
      channels: [],
      displayName: 'G',
      description: 'A model.',
      contextTokens: 1_000,
    });

    const { text } = await gatewayInProcess({ models: [full] }).call(get('/v1beta/models/g'));

    expect(JSON.parse(text)).toEqual({
      name: 'models/g',
      baseModelId: 'g',
      version: '001',
      displayName: 'G',
      description: 'A model.',
      inputTokenLimit: 1_000,
      outputTokenLimit: 100,
      supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    });
  });
});

describe('GET /v1/models', () => {
  it('lists each model in OpenAI’s format', async () => {
    const { text } = await gatewayInProcess({ models: [model({ createdAtSeconds: 7 })] }).call(
      get('/v1/models'),
    );

    const entry = { id: 'chat', object: 'model', created: 7, owned_by: 'Acme' };
    expect(JSON.parse(text)).toEqual({ object: 'list', data: [entry] });
  });

  it('lists a model of two protocols once', async () => {
    const both = model({ id: 'both', protocols: ['images', 'chat', 'native'] });

    expect(ids(await gatewayInProcess({ models: [both] }).call(get('/v1/models')))).toEqual([
      'both',
    ]);
  });
});

describe('the models of a key', () => {
  const models = [
    model({ id: 'a-chat' }),
    model({ id: 'an-image', protocols: ['images'] }),
    native('a-native'),
    model({ id: 'both', protocols: ['chat', 'native'], aliases: ['latest'] }),
    model({ id: 'of-others', groups: ['others'], protocols: ['chat', 'native'] }),
    model({ id: 'of-nobody', groups: [], protocols: ['chat', 'native'] }),
    model({ id: '__proto__' }),
    model({ id: 'vendor/name:free' }),
  ];

  it('are those that its group may use, by protocol', async () => {
    const harness = gatewayInProcess({ models });

    expect(ids(await harness.call(get('/v1/models')))).toEqual([
      'a-chat',
      'both',
      '__proto__',
      'vendor/name:free',
      'an-image',
    ]);
    expect((await names(harness, '')).names).toEqual(['models/a-native', 'models/both']);
  });

  it.each([
    ['/v1/models/a-chat', 'a-chat'],
    ['/v1/models/an-image', 'an-image'],
    ['/v1/models/latest', 'both'],
    ['/v1/models/__proto__', '__proto__'],
    ['/v1/models/vendor/name:free', 'vendor/name:free'],
    ['/v1/models/vendor%2Fname%3Afree', 'vendor/name:free'],
    ['/v1beta/models/latest', 'models/both'],
  ])('are readable one by one: %s', async (path, name) => {
    const { status, text } = await gatewayInProcess({ models }).call(get(path));

    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject(path.startsWith('/v1beta') ? { name } : { id: name });
  });

  it.each([
    '/v1/models/of-others',
    '/v1/models/of-nobody',
    '/v1/models/constructor',
    '/v1beta/models/of-nobody',
    '/v1beta/models/of-others',
  ])('do not include others, which look like unknown ones: %s', async (path) => {
    const hidden = await gatewayInProcess({ models }).call(get(path));
    const missing = await gatewayInProcess({ models: [] }).call(get(path));

    expect(hidden.status).toBe(404);
    expect(hidden).toEqual(missing);
  });
});

it('a list costs nothing, and works while every call slot is taken', async () => {
  const { start, call, upstream, state } = gatewayInProcess({ options: { maxConcurrentCalls: 1 } });

  const calling = start({
    path: '/v1/chat/completions',
    body: { model: 'chat', messages: [{ role: 'user' }] },
  });
  await upstream.next();
  const before = await state();

  expect((await call(get('/v1/models'))).status).toBe(200);
  expect(await state()).toEqual(before);
  calling.disconnect();
});

function ids({ text }: CallerReply): readonly string[] {
  return JSON.parse(text).data.map(({ id }: { id: string }) => id);
}

describe('a model whose channels take no calls', () => {
  const out = channel({ id: 'out', weight: 0 });
  const served = channel({ id: 'served' });
  const models = ['chat', 'native'].flatMap((kind) => {
    const protocols = [kind === 'native' ? ('native' as const) : ('chat' as const)];
    return [
      model({ id: `${kind}-none`, protocols, channels: [] }),
      model({ id: `${kind}-zero`, protocols, channels: [out, { ...out, id: 'also-out' }] }),
      model({ id: `${kind}-served`, protocols, channels: [out, served] }),
    ];
  });

  it.each([
    ['/v1/models', 'chat-served'],
    ['/v1beta/models', 'native-served'],
  ])('is not listed: GET %s', async (path, expected) => {
    const { text } = await gatewayInProcess({ models }).call(get(path));

    const { data, models: native } = JSON.parse(text);
    const ids = data ?? native;
    expect(ids.map(({ id, name }: Record<string, string>) => id ?? name)).toEqual([
      path.startsWith('/v1beta') ? `models/${expected}` : expected,
    ]);
  });
});
