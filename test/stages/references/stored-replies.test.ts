// suite: quick
/** Stored replies are read and deleted by the key that got them, on the account that has them. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ResponseIndex } from '../../../src/ports/replies/response-index.ts';
import { memoryResponseIndex } from '../../../src/stores/memory/response-index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import {
  answer,
  errorIn,
  type ResponsesGateway,
  type ResponsesSetup,
  regional,
  responsesGateway,
} from './responses-gateway.ts';

/** A gateway whose upstream has stored a reply, `resp_1`, on the account `us`. */
async function withStored(setup: ResponsesSetup = {}, respond = respondStored) {
  let calls = 0;
  const upstream = (call: DrivenCall): void => {
    calls += 1;
    if (call.request.method === 'POST') answer(call, String(calls));
    else respond(call);
  };
  const gateway = responsesGateway({ upstream, ...setup });
  gateway.gateway.disableChannel('eu');
  expect((await gateway.ask({})).status).toBe(200);
  gateway.gateway.enableChannel('eu');
  return gateway;
}

const document = '{"id":"resp_1","object":"response","n":12345678901234567890,"x":1.0}';

function respondStored(call: DrivenCall): void {
  call.answer(200, call.request.method === 'DELETE' ? '{"deleted":true}' : document);
}

/** Method and path of what reached the upstream after the first call. */
function received({ upstream }: ResponsesGateway): readonly string[] {
  return upstream.calls.slice(1).map(({ request }) => `${request.method} ${request.path}`);
}

describe('a stored reply', () => {
  it('is read from the account that has it, byte for byte, for nothing', async () => {
    const gateway = await withStored();
    const before = await gateway.state('k1');

    const reply = await gateway.stored('GET resp_1');

    expect([reply.status, reply.text]).toEqual([200, document]);
    expect(reply.headers['content-type']).toBe('application/json');
    expect(received(gateway)).toEqual(['GET /v1/responses/resp_1']);
    expect(gateway.hosts()).toEqual(['us', 'us']);
    expect(gateway.upstream.calls[1]?.request.headers).toMatchObject({
      authorization: 'Bearer account-secret',
    });
    expect(gateway.upstream.calls[1]?.request.headers).not.toHaveProperty('content-type');
    expect(await gateway.state('k1')).toEqual(before);
    expect(gateway.records).toHaveLength(1);
  });

  it('emits one event for each read at a provider, whether or not it worked', async () => {
    let reads = 0;
    const gateway = await withStored({}, (call) => {
      reads += 1;
      if (reads === 1) respondStored(call);
      else call.answer(503, { error: { message: 'overloaded' } });
    });

    await gateway.stored('GET resp_1');
    await gateway.stored('GET resp_1');
    await gateway.stored('GET resp_unknown');
    await gateway.stored('DELETE resp_1');

    const request = { keyId: 'k1', protocol: 'responses', modelId: 'm', channelId: 'us' };
    const common = { ...request, dialect: 'openai', responseId: 'resp_1', durationMs: 0 };
    expect(gateway.allEvents.filter(({ type }) => type === 'stored_reply_read')).toEqual([
      expect.objectContaining({ ...common, code: undefined, reason: undefined }),
      expect.objectContaining({ ...common, code: expect.any(String), reason: expect.any(String) }),
    ]);
  });

  it('is read with its input, and with the known parameters of the query', async () => {
    const gateway = await withStored();

    await gateway.stored('GET resp_1/input_items?limit=2&order=asc&after=msg_%2F1&key=secret');
    await gateway.stored('GET resp_1?include[]=message.output_text.logprobs&beta=true');

    expect(received(gateway)).toEqual([
      'GET /v1/responses/resp_1/input_items?limit=2&order=asc&after=msg_%2F1',
      'GET /v1/responses/resp_1?include%5B%5D=message.output_text.logprobs',
    ]);
  });

  it.each([
    ...['stream=true', 'stream=True', 'stream=1', 'limit=1&stream=true&starting_after=2'],
    ...['stream=false&stream=true', '%73tream=true'],
  ])('is refused as a stream: %s', async (query) => {
    const gateway = await withStored();

    for (const id of ['resp_1', 'resp_of_nobody', 'resp_tg_1']) {
      const reply = await gateway.stored(`GET ${id}?${query}`);
      expect([reply.status, errorIn(reply).param]).toEqual([400, 'stream']);
    }
    expect(received(gateway)).toEqual([]);
  });

  it.each([
    ['GET resp_1?stream=false', 'GET /v1/responses/resp_1'],
    ['GET resp_1?stream', 'GET /v1/responses/resp_1'],
    ['GET resp_1/input_items?stream=true', 'GET /v1/responses/resp_1/input_items'],
    ['DELETE resp_1?stream=true', 'DELETE /v1/responses/resp_1'],
  ])('is served where a stream is not asked for: %s', async (request, upstream) => {
    const gateway = await withStored();

    expect((await gateway.stored(request)).status).toBe(200);
    expect(received(gateway)).toEqual([upstream]);
  });

  it('is deleted, and unknown from then on', async () => {
    const gateway = await withStored();

    expect((await gateway.stored('DELETE resp_1')).text).toBe('{"deleted":true}');
    expect((await gateway.stored('GET resp_1')).status).toBe(404);
    expect(received(gateway)).toEqual(['DELETE /v1/responses/resp_1']);
  });

  it('is not forgotten if its provider does not delete it', async () => {
    const gateway = await withStored({}, (call) => {
      if (call.request.method === 'DELETE') call.answer(500, { error: { message: 'no' } });
      else respondStored(call);
    });

    expect((await gateway.stored('DELETE resp_1')).status).toBe(502);
    expect((await gateway.stored('GET resp_1')).status).toBe(200);
  });

  it('goes to no other account', async () => {
    const gateway = await withStored();
    gateway.gateway.disableChannel('us');

    expect((await gateway.stored('GET resp_1')).status).toBe(503);
    gateway.replaceChannels([regional('eu')]);
    expect((await gateway.stored('GET resp_1')).status).toBe(503);
    expect(received(gateway)).toEqual([]);
  });

  it('of an account that a function names', async () => {
    const credential = () => ({ secret: 'user-secret', account: 'user-7' });
    const channels = [regional('eu', { credential: 'text' }), regional('us', { credential })];
    const gateway = await withStored({ channels });

    expect((await gateway.stored('GET resp_1')).status).toBe(200);
    expect(gateway.upstream.calls[1]?.request.headers).toMatchObject({
      authorization: 'Bearer user-secret',
    });
  });
});

it('an account that a function names is never a channel’s own', async () => {
  const credential = () => ({ secret: 'user-secret', account: 'eu' });
  const channels = [regional('us', { credential })];
  const gateway = await withStored({ channels });
  gateway.replaceChannels([regional('eu', { account: 'eu' })]);

  expect((await gateway.stored('GET resp_1')).status).toBe(503);
  expect((await gateway.ask({ previous_response_id: 'resp_1' })).status).toBe(503);
  expect(received(gateway)).toEqual([]);
});

describe('another key’s stored reply is answered as an unknown one', () => {
  it.each(['GET', 'DELETE', 'GET /input_items'])('%s: byte for byte', async (request) => {
    const [method = '', part = ''] = request.split(' ');
    const found: string[] = [];
    const index = memoryResponseIndex({ clock: fakeClock() });
    const counting: ResponseIndex = {
      ...index,
      find: (owner, ids) => {
        found.push(`${owner} ${ids.length}`);
        return index.find(owner, ids);
      },
    };
    const gateway = await withStored({ options: { responses: { index: counting } } });

    const seen = [];
    for (const id of ['resp_1', 'resp_9', 'msg_1']) {
      const { status, text } = await gateway.stored(`${method} ${id}${part}`, 'k2');
      seen.push({ status, text: text.replace(id, 'ID') });
    }

    expect(seen[0]).toEqual({ status: 404, text: expect.stringContaining("'ID' not found") });
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
    expect(new Set(found)).toEqual(new Set(['k2 1']));
    expect(received(gateway)).toEqual([]);
  });

  it('an item is not a reply, and no other text is an id', async () => {
    const gateway = await withStored();

    for (const id of ['msg_1', '%72esp_1', 'resp_1;x', `r${'x'.repeat(200)}`, 'resp.1']) {
      const reply = await gateway.stored(`GET ${id}`);
      expect([id, reply.status, errorIn(reply).type]).toEqual([id, 404, 'invalid_request_error']);
    }
    expect(received(gateway)).toEqual([]);
  });

  it('a 404 of the provider is the same', async () => {
    const gateway = await withStored({}, (call) => {
      call.answer(404, { error: { message: 'secret of the account' } });
    });

    const gone = await gateway.stored('GET resp_1');
    const unknown = await gateway.stored('GET resp_2');

    expect(gone.text).toBe(unknown.text.replace('resp_2', 'resp_1'));
  });
});

describe('failures', () => {
  it.each([
    [401, 502],
    [429, 429],
    [500, 502],
    [503, 503],
  ])('%i of the provider is %i, without its secrets', async (status, seen) => {
    const gateway = await withStored({}, (call) => {
      call.answer(status, { error: { message: 'Bad key account-secret' } });
    });

    const reply = await gateway.stored('GET resp_1');

    expect(reply.status).toBe(seen);
    expect(reply.text).not.toContain('account-secret');
  });

  it('a broken connection is 502', async () => {
    const gateway = await withStored({}, (call) => call.breakOff('reset'));

    expect((await gateway.stored('GET resp_1')).status).toBe(502);
  });

  it.each([
    '<b>sign in</b>',
    'junk',
    '',
    '[]',
    '"x"',
    'event: error\ndata: {}\n\n',
  ])('a reply that is not a document is 502, and deletes nothing: %j', async (body) => {
    let text = body;
    const gateway = await withStored({}, (call) => call.answer(200, text));

    for (const request of ['GET resp_1', 'DELETE resp_1']) {
      const reply = await gateway.stored(request);
      expect([reply.status, reply.text.includes(body === '' ? 'none' : body)]).toEqual([
        502,
        false,
      ]);
    }
    text = document;
    expect((await gateway.stored('GET resp_1')).status).toBe(200);
  });

  it.each([
    'GET resp_1',
    'GET resp_1/input_items',
    'DELETE resp_1',
  ])('a provider that does not answer is 504: %s', async (request) => {
    const clock = fakeClock();
    const gateway = await withStored({ options: { clock } }, () => {});
    const reply = gateway.stored(request);
    while (gateway.upstream.calls.length < 2) await setImmediate();

    for (let second = 0; second <= 300; second += 1) {
      clock.advance(1_000);
      await setImmediate();
    }

    expect((await reply).status).toBe(504);
    await gateway.gateway.close({ drainMs: 60_000 });
  });

  it('an index that is down is 503', async () => {
    const find = (): never => {
      throw new Error('down');
    };
    const index: ResponseIndex = { ...memoryResponseIndex(), find };
    const gateway = responsesGateway({ options: { responses: { index } } });

    expect((await gateway.stored('GET resp_1')).status).toBe(503);
  });

  it('count for the rate limit of calls', async () => {
    const rates = [{ calls: { perHour: 2 } }];
    const gateway = await withStored({ keys: { k1: { rates } } });

    const replies = [await gateway.stored('GET resp_1'), await gateway.stored('GET resp_1')];

    expect(replies.map(({ status }) => status)).toEqual([200, 429]);
  });

  it('end with the calls that run: none is left over', async () => {
    const gateway = await withStored();
    await gateway.stored('GET resp_1');
    await gateway.stored('GET resp_9');

    await gateway.gateway.close({ drainMs: 60_000 });

    expect(gateway.upstream.isClosed).toBe(true);
  });
});

describe('a translated reply', () => {
  const gemini = regional('gemini', { dialect: 'gemini', baseUrl: 'https://g.example/v1beta' });
  const upstream = (call: DrivenCall): void =>
    call.answer(200, {
      candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
    });

  it('can be deleted with its items, once, and not be read', async () => {
    const gateway = responsesGateway({ channels: [gemini], upstream });
    const { id, output } = JSON.parse((await gateway.ask({})).text);
    const reference = { input: [{ id: output[0].id }, { role: 'user', content: 'go' }] };
    expect((await gateway.ask(reference)).status).toBe(200);

    const read = await gateway.stored(`GET ${id}`);
    const foreign = await gateway.stored(`DELETE ${id}`, 'k2');
    const deleted = await gateway.stored(`DELETE ${id}`);

    expect([read.status, errorIn(read).message]).toEqual([
      404,
      expect.stringContaining('can’t be read'.replace('’', "'")),
    ]);
    expect(foreign.status).toBe(404);
    expect(JSON.parse(deleted.text)).toEqual({ id, object: 'response', deleted: true });
    expect((await gateway.ask(reference)).status).toBe(404);
    expect((await gateway.stored(`DELETE ${id}`)).status).toBe(404);
  });
});
