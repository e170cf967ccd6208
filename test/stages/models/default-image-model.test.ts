// suite: quick
/** `defaultImageModel`: the model of an image request that names none, as OpenAI's API allows. */
import { describe, expect, it } from 'vitest';
import {
  type CallerRequest,
  type GatewaySetup,
  gatewayInProcess,
  untouched,
} from '../../support/gateway-in-process.ts';
import { channel, completeReply, model } from '../../support/models.ts';

const price = { per: 'image', rows: [{ nanos: 500n }] } as const;
/** The bodies of one request without a model, by the way in which it has none. */
const unnamed = {
  missing: '{"prompt":"a cat","x":1.0}',
  null: '{"model" : null,"prompt":"a cat","x":1.0}',
  'left out of a short body': '{"prompt":"a cat"}',
};

function setup(upstreamModel: string | undefined): GatewaySetup {
  const own = upstreamModel === undefined ? {} : { upstreamModel };
  const channels = [channel(own)];
  return {
    handlers: [completeReply('image')],
    models: [model({ id: 'pictures', protocols: ['images'], price, channels })],
    options: { defaultImageModel: 'pictures' },
  };
}

function images(body: string): CallerRequest {
  return { path: '/v1/images/generations', body };
}

describe.each(Object.entries(unnamed))('an image request whose model is %s', (_how, body) => {
  it.each(['gpt-image-1', undefined])('is sent with the default model, as %s', async (name) => {
    const { call, upstream, records } = gatewayInProcess(setup(name));

    const { status } = await call(images(body));

    const sent = Buffer.concat([...(upstream.calls[0]?.request.body ?? [])]).toString();
    expect(status).toBe(200);
    expect(JSON.parse(sent)).toEqual({ ...JSON.parse(body), model: name ?? 'pictures' });
    expect(sent.match(/"model"/g)).toHaveLength(1);
    expect(sent.includes('"x":1.0')).toBe(body.includes('"x":1.0'));
    expect(records).toMatchObject([{ modelId: 'pictures', chargeNanos: 500n }]);
  });

  it('is refused without the option, by the name of the member', async () => {
    const { call, state } = gatewayInProcess({ ...setup(undefined), options: {} });

    const { status, text } = await call(images(body));

    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({
      message: '`model` must be a string: the id of a model.',
      param: 'model',
    });
    expect(await state()).toEqual(untouched);
  });
});

it('a request that names a model gets that one', async () => {
  const { call } = gatewayInProcess(setup(undefined));

  const { status, text } = await call(images('{"model":"other","prompt":"a cat"}'));

  expect(status).toBe(404);
  expect(text).toContain('There is no model \\"other\\" here.');
});

it('is translated too', async () => {
  const channels = [channel({ dialect: 'gemini', upstreamModel: 'gemini-image' })];
  const { start, upstream } = gatewayInProcess({
    models: [model({ id: 'pictures', protocols: ['images'], price, channels })],
    options: { defaultImageModel: 'pictures' },
  });

  const calling = start(images(unnamed.missing));
  const sent = await upstream.next();
  sent.respond(500);
  sent.end();
  await calling.reply;

  expect(sent.request.path).toContain('gemini-image');
});

it('applies to images only', async () => {
  const { call } = gatewayInProcess(setup(undefined));

  const { status, text } = await call({ path: '/v1/chat/completions', body: { messages: [{}] } });

  expect(status).toBe(400);
  expect(JSON.parse(text).error.param).toBe('model');
});
