// suite: quick
/** What later calls may refer to is remembered before a reply ends, if the index can. */
import { describe, expect, it } from 'vitest';
import type { ResponseIndex } from '../../../src/ports/replies/response-index.ts';
import { memoryResponseIndex } from '../../../src/stores/memory/response-index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import {
  answer,
  continueFrom,
  errorIn,
  type ResponsesGateway,
  referTo,
  replyDocument,
  responsesGateway,
  sealed,
} from './responses-gateway.ts';

describe('while the index is down', () => {
  const down = (): never => {
    throw new Error('down');
  };
  const index: ResponseIndex = {
    durability: 'shared',
    remember: down,
    find: async () => down(),
    forget: down,
  };

  it.each([referTo('msg_1'), continueFrom('resp_1')])('%j gets 503', async (members) => {
    const gateway = responsesGateway({ options: { responses: { index } } });

    const reply = await gateway.ask(members);

    expect([reply.status, errorIn(reply).code]).toEqual([503, 'store_unavailable']);
    expect(gateway.sent()).toEqual([]);
  });

  it('encrypted content goes up, and the reply comes', async () => {
    const gateway = responsesGateway({ options: { responses: { index } } });

    const reply = await gateway.ask(sealed('rs_1'));

    expect(reply.status).toBe(200);
    expect(gateway.eventTypes().filter((type) => type !== 'call_ended')).toEqual([
      'port_failed',
      'port_failed',
      'index_lost',
    ]);
  });

  it.each([false, true])('a slow one is not waited for; streamed: %s', async (stream) => {
    const never = () => new Promise<never>(() => {});
    const slow: ResponseIndex = { ...index, remember: never, find: never };
    const gateway = responsesGateway({ options: { responses: { index: slow } } });

    const pending = gateway.ask({ ...sealed('rs_1'), stream });
    await waitFor(gateway, 1_000);
    await waitFor(gateway, 250);
    const reply = await pending;

    expect(reply.status).toBe(200);
    expect(reply.isCut).toBe(false);
    expect(reply.text).toContain('msg_1');
    expect(gateway.eventTypes()).toContain('index_lost');
  });
});

describe('the end of a reply waits until the index knows it', () => {
  it.each([false, true])('streamed: %s', async (stream) => {
    let finish: () => void = () => {};
    let isCalled: () => void = () => {};
    const called = new Promise<void>((resolve) => {
      isCalled = resolve;
    });
    const index: ResponseIndex = {
      ...memoryResponseIndex({ clock: fakeClock() }),
      remember: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
          isCalled();
        }),
    };
    const gateway = responsesGateway({ options: { responses: { index } } });
    let isOver = false;
    const pending = gateway.ask({ stream }).then((reply) => {
      isOver = true;
      return reply;
    });
    await called;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(isOver).toBe(false);

    finish();
    const reply = await pending;

    expect(reply.text).toContain(stream ? 'response.completed' : '"completed"');
    expect(gateway.eventTypes()).not.toContain('index_lost');
  });
});

describe('what a reply leaves behind is remembered', () => {
  it('of a reply that is too large to be read as a whole', async () => {
    const gateway = responsesGateway({
      upstream: (call) => {
        const document = replyDocument('1');
        const text = 'x'.repeat(200_000);
        const output = [...document.output, { id: 'msg_last', type: 'message', text }];
        call.respond(200, { 'content-type': 'application/json' });
        const body = JSON.stringify({ ...document, output });
        for (let at = 0; at < body.length; at += 50_000) call.write(body.slice(at, at + 50_000));
        call.end();
      },
    });
    await gateway.ask({});

    for (const id of ['msg_1', 'msg_last']) {
      expect((await gateway.ask(referTo(id))).status).toBe(200);
    }
    expect((await gateway.ask(continueFrom('resp_1'))).status).toBe(200);
  });

  it('of a stream that breaks off', async () => {
    const gateway = responsesGateway({
      upstream: (call) => {
        if (gateway.upstream.calls.length > 1) return answer(call, '2');
        const [item] = replyDocument('1').output;
        call.respond(200, { 'content-type': 'text/event-stream' });
        const created = { type: 'response.created', response: { id: 'resp_1' } };
        for (const event of [created, { type: 'response.output_item.done', item }]) {
          call.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
        }
        call.breakOff('reset');
      },
    });

    const broken = await gateway.ask({ stream: true });

    expect(broken.text).toContain('response.failed');
    expect((await gateway.ask(referTo('rs_1'))).status).toBe(200);
  });

  it('of a reply whose caller has disconnected', async () => {
    let call: DrivenCall | undefined;
    const gateway = responsesGateway({
      upstream: (one) => {
        if (gateway.upstream.calls.length > 1) answer(one, '2');
        else call = one;
      },
    });
    const pending = gateway.start({
      path: '/v1/responses',
      headers: { authorization: 'Bearer caller-secret-k1', 'x-vendor-api-key': '' },
      body: { model: 'm', input: 'hi', stream: true },
    });
    await gateway.upstream.next();
    const [item] = replyDocument('1').output;
    call?.respond(200, { 'content-type': 'text/event-stream' });
    const event = { type: 'response.output_item.done', item };
    call?.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    await pending.firstBytes;
    pending.disconnect();
    const completed = { type: 'response.completed', response: replyDocument('1') };
    call?.write(`event: ${completed.type}\ndata: ${JSON.stringify(completed)}\n\n`);
    call?.end();
    await gateway.ended(1);

    expect((await gateway.ask(referTo('rs_1'))).status).toBe(200);
    expect((await gateway.ask(referTo('rs_1'), 'k2')).status).toBe(404);
  });

  it('and not of a token count', async () => {
    const remembered: unknown[] = [];
    const index: ResponseIndex = {
      ...memoryResponseIndex(),
      remember: (entries) => {
        remembered.push(...entries);
      },
    };
    const gateway = responsesGateway({
      options: { responses: { index } },
      upstream: (call) => call.answer(200, { object: 'response.input_tokens', input_tokens: 5 }),
    });

    const reply = await gateway.call({
      path: '/v1/responses/input_tokens',
      headers: { authorization: 'Bearer caller-secret-k1', 'x-vendor-api-key': '' },
      body: { model: 'm', input: 'hi' },
    });

    expect([reply.status, remembered]).toEqual([200, []]);
  });
});

async function waitFor(gateway: ResponsesGateway, ms: number): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  gateway.clock.advance(ms);
}
