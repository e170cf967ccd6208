// suite: slow host
/** The lists of models, in the form of their API, by the group of the key. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import {
  bearer,
  type MountedGateway,
  mountedGateway,
  vendorKey,
} from '../support/mounted-gateway.ts';
import { mountedModels } from '../support/mounted-models.ts';

let harness: MountedGateway;

beforeEach(async () => {
  harness = await mountedGateway();
});

afterEach(() => harness.close());

const notFaults = (id: string): boolean => !id.includes('demo-');

describe('GET /v1beta/models', () => {
  it('lists the models that the group may use through the native protocol', async () => {
    const response = await native('').expect(200);

    const names: readonly string[] = response.body.models.map(
      (model: { name: string }) => model.name,
    );
    expect(names.filter(notFaults)).toEqual([
      'models/both-1',
      'models/vendor/name:free',
      'models/native-1',
      'models/dear-1',
    ]);
  });

  it('describes a model as Google does', async () => {
    const { body } = await native('/native-1').expect(200);

    expect(body).toEqual({
      name: 'models/native-1',
      baseModelId: 'native-1',
      version: '001',
      displayName: 'Native One',
      description: '',
      inputTokenLimit: 1_048_576,
      outputTokenLimit: 4_096,
      supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    });
  });

  it('comes in pages, the last of which has no next one', async () => {
    const whole = await native('').expect(200);
    const names: unknown[] = [];
    let token: string | undefined = '';
    for (let page = 0; token !== undefined && page < 20; page += 1) {
      const response: supertest.Response = await native(`?pageSize=4&pageToken=${token}`);
      names.push(...response.body.models);
      token = response.body.nextPageToken;
      expect(token).not.toBe('');
    }

    expect(token).toBeUndefined();
    expect(names).toEqual(whole.body.models);
  });

  it.each([
    '?pageSize=-1',
    '?pageSize=many',
    '?pageToken=nonsense',
  ])('refuses %s', async (query) => {
    const response = await native(query).expect(400);

    expect(response.body.error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
  });

  it('hides a model of another group, like one that does not exist', async () => {
    const hidden = await native('/foreign-1').expect(404);
    const missing = await native('/missing-1').expect(404);

    expect(JSON.stringify(hidden.body).replace('foreign-1', 'missing-1')).toBe(
      JSON.stringify(missing.body),
    );
  });

  it('is the native list under /v1 too, for a key in a native header', async () => {
    const beta = await native('').expect(200);
    const stable = await supertest(harness.origin)
      .get('/v1/models')
      .set(vendorKey(harness.secrets.native))
      .expect(200);

    expect(stable.body).toEqual(beta.body);
  });
});

describe('GET /v1/models', () => {
  it('lists the models that the group may use through chat and images', async () => {
    const chat = await openai('', harness.secrets.chat).expect(200);
    const image = await openai('', harness.secrets.image).expect(200);

    const ids = (body: { data: { id: string }[] }) =>
      body.data.map(({ id }) => id).filter(notFaults);
    expect(chat.body.object).toBe('list');
    expect(ids(chat.body)).toEqual(['chat-1', 'both-1', 'vendor/name:free', 'dear-1']);
    expect(ids(image.body)).toEqual(['image-1', 'image-48mb']);
  });

  it.each(['vendor/name:free', 'vendor%2Fname%3Afree'])('gives one model by %s', async (id) => {
    const response = await openai(`/${id}`, harness.secrets.chat).expect(200);

    expect(response.body).toEqual({
      id: 'vendor/name:free',
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'OpenAI',
    });
  });

  it('gives 404 for one that does not exist, and for one of another group', async () => {
    for (const id of ['nope', 'foreign-1', 'native-1']) {
      const response = await openai(`/${id}`, harness.secrets.chat).expect(404);

      expect(response.body).toEqual({
        error: {
          message: expect.stringContaining(`"${id}" here. List the models with GET /v1/models`),
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      });
    }
  });

  it('answers HEAD as it answers GET, without the body', async () => {
    const get = await openai('', harness.secrets.chat)
      .set('x-request-id', 'same-request')
      .expect(200);
    const head = await supertest(harness.origin)
      .head('/v1/models')
      .set({ ...bearer(harness.secrets.chat), 'x-request-id': 'same-request' })
      .expect(200);

    const { date: _get, ...expected } = get.headers;
    const { date: _head, ...seen } = head.headers;
    expect(seen).toEqual(expected);
    expect(head.text).toBeUndefined();
  });

  it('accepts a GET with a JSON content type', async () => {
    await openai('', harness.secrets.chat).set('content-type', 'application/json').expect(200);
  });
});

describe('models change while the gateway runs', () => {
  it('one that was added is listed and served immediately', async () => {
    const models = mountedModels(harness.upstream, 'sk-upstream-0123456789abcdef');
    const [first] = models;
    if (first === undefined) throw new Error('the stage has no models');

    harness.gateway.update({ catalog: staticCatalog([...models, { ...first, id: 'new-1' }]) });

    await openai('/new-1', harness.secrets.chat).expect(200);
    await supertest(harness.origin)
      .post('/v1/chat/completions')
      .set(bearer(harness.secrets.chat))
      .send({ model: 'new-1', messages: [{ role: 'user', content: 'a' }] })
      .expect(200);
  });

  it('one that was removed is gone immediately', async () => {
    harness.gateway.update({ catalog: staticCatalog([]) });

    await openai('/chat-1', harness.secrets.chat).expect(404);
  });
});

function native(rest: string): supertest.Test {
  return supertest(harness.origin)
    .get(`/v1beta/models${rest}`)
    .set(vendorKey(harness.secrets.native));
}

function openai(rest: string, secret: string): supertest.Test {
  return supertest(harness.origin).get(`/v1/models${rest}`).set(bearer(secret));
}
