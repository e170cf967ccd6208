// suite: quick
/** A call to a model that another API of the gateway serves says which one. */
import { describe, expect, it } from 'vitest';
import { gatewayInProcess, untouched } from '../../support/gateway-in-process.ts';
import { model } from '../../support/models.ts';

describe('a model of another API', () => {
  const generate = 'POST /v1beta/models/{model}:generateContent';
  const models = [
    model({ id: 'a-chat' }),
    model({ id: 'an-image', protocols: ['images'] }),
    model({ id: 'a-native', protocols: ['native'] }),
    model({ id: 'of-others', groups: ['others'], protocols: ['native'] }),
    model({ id: 'unknown-api', protocols: JSON.parse('["telegraph"]') }),
  ];
  // A host's own catalog may have protocols that the gateway does not know.
  const catalog = {
    find: (id: string) => models.find((one) => one.id === id),
    list: () => models,
  };

  it.each([
    ['GET', '/v1/models/a-native', undefined, generate],
    ['GET', '/v1beta/models/a-chat', undefined, 'POST /v1/chat/completions'],
    ['GET', '/v1beta/models/an-image', undefined, 'POST /v1/images/generations'],
    [
      'POST',
      '/v1/chat/completions',
      { model: 'a-native', messages: [{ role: 'user', content: 'a' }] },
      generate,
    ],
    ['POST', '/v1/images/generations', { model: 'a-native', prompt: 'a' }, generate],
    [
      'POST',
      '/v1/images/generations',
      { model: 'a-chat', prompt: 'a' },
      'POST /v1/chat/completions',
    ],
    [
      'POST',
      '/v1beta/models/an-image:generateContent',
      { contents: [{ parts: [{ text: 'a' }] }] },
      'POST /v1/images/generations',
    ],
  ])('%s %s %o says which API serves it', async (method, path, body, requests) => {
    const { call, state } = gatewayInProcess({ options: { catalog } });
    const { status, text } = await call({ method, path, body });

    const name = /an?-(?:native|chat|image)/.exec(path + JSON.stringify(body ?? ''))?.[0];
    expect(status).toBe(404);
    expect(JSON.parse(text).error.message).toBe(
      `The model "${name}" is not served by this API. Call it with ${requests}.`,
    );
    expect(await state()).toEqual(untouched);
  });

  it.each(['of-others', 'unknown-api'])('that the key may not call is unknown: %s', async (id) => {
    const { call } = gatewayInProcess({ options: { catalog } });
    const { status, text } = await call({
      path: '/v1/chat/completions',
      body: { model: id, messages: [{ role: 'user', content: 'a' }] },
    });

    expect(status).toBe(404);
    expect(text).toContain(`There is no model \\"${id}\\" here.`);
  });
});
