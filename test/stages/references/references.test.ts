// suite: quick
/** Calls that refer to stored replies and items: which account serves them. */
import { describe, expect, it } from 'vitest';
import type { ResponseIndex } from '../../../src/ports/replies/response-index.ts';
import { memoryResponseIndex } from '../../../src/stores/memory/response-index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import {
  continueFrom,
  errorIn,
  referTo,
  regional,
  replyFromUs,
  responsesGateway,
} from './responses-gateway.ts';

describe('a call that refers to a stored reply or item', () => {
  it.each([false, true])('is served by the account that has it; streamed: %s', async (stream) => {
    const gateway = responsesGateway();
    await replyFromUs(gateway, { stream });

    const replies = [
      await gateway.ask(continueFrom('resp_1')),
      await gateway.ask(referTo('msg_1')),
      await gateway.ask({ input: [{ id: 'rs_1' }] }),
      await gateway.ask({ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }),
    ];

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(gateway.hosts()).toEqual(['us', 'us', 'us', 'us', 'us']);
    expect(JSON.parse(gateway.sent()[1] ?? '')).toMatchObject(continueFrom('resp_1'));
  });

  it('goes to no other account: 503 while that one is out', async () => {
    const gateway = responsesGateway();
    await replyFromUs(gateway);
    gateway.gateway.disableChannel('us');

    const reply = await gateway.ask(referTo('msg_1'));

    expect(reply.status).toBe(503);
    expect(errorIn(reply)).toMatchObject({ code: 'no_channel' });
    expect(gateway.hosts()).toEqual(['us']);
  });

  it('goes to another channel of the account', async () => {
    const second = regional('us', { id: 'us-2', priority: 2 });
    const channels = [regional('eu'), regional('us', { priority: 1 }), second];
    const gateway = responsesGateway({ channels });
    await replyFromUs(gateway);
    gateway.gateway.disableChannel('us');

    const reply = await gateway.ask(referTo('msg_1'));

    expect(reply.status).toBe(200);
    expect(gateway.hosts()).toEqual(['us', 'us']);
  });

  it('on two accounts is refused by the path of the second', async () => {
    const gateway = responsesGateway();
    await replyFromUs(gateway);
    await gateway.ask({});

    const reply = await gateway.ask({ input: ['msg_2', 'msg_1'].map((id) => ({ id })) });

    expect(reply.status).toBe(400);
    expect(errorIn(reply)).toMatchObject({ param: 'input[1].id', type: 'invalid_request_error' });
    expect(gateway.hosts()).toHaveLength(2);
  });

  it('may be one of a key with the same responseOwner', async () => {
    const gateway = responsesGateway({ keys: { k2: { responseOwner: 'k1' } } });
    await gateway.ask({});

    expect((await gateway.ask(referTo('msg_1'), 'k2')).status).toBe(200);
    expect((await gateway.ask(referTo('msg_1'), 'k3')).status).toBe(404);
  });

  it('expires', async () => {
    const gateway = responsesGateway({ options: { responses: { indexTtlMs: 60_000 } } });
    await gateway.ask({});
    gateway.clock.advance(59_999);
    expect((await gateway.ask(referTo('msg_1'))).status).toBe(200);

    gateway.clock.advance(1);

    expect((await gateway.ask(referTo('msg_1'))).status).toBe(404);
  });

  it('holds the tokens of what it refers to', async () => {
    const limitNanos = 1_000n;
    const keys = { k1: { quota: [{ id: 'k1', period: 'total', limitNanos }] as const } };
    const gateway = responsesGateway({ keys });
    await gateway.ask({});

    // The context would cost 100,000.
    expect((await gateway.ask(continueFrom('resp_1'))).status).toBe(200);
    expect((await gateway.ask(referTo('msg_1'))).status).toBe(200);
  });

  it('is refused with OpenAI’s error text for 512 unknown references, and for more', async () => {
    const gateway = responsesGateway();
    await gateway.ask({});
    const many = (count: number): object => ({
      input: Array.from({ length: count }, () => ({ type: 'item_reference', id: 'msg_1' })),
    });

    expect((await gateway.ask(many(512))).status).toBe(200);
    const refused = await gateway.ask(many(513));

    expect(refused.status).toBe(400);
    expect(errorIn(refused)).toMatchObject({ param: 'input' });
    expect(gateway.sent()).toHaveLength(2);
  });
});

describe('two gateways with a shared index', () => {
  it('serve calls as one', async () => {
    const shared = memoryResponseIndex({ clock: fakeClock() });
    const index: ResponseIndex = { ...shared, durability: 'shared' };
    const options = { responses: { index } };
    const first = responsesGateway({ options, name: 'a' });
    const second = responsesGateway({ options, name: 'b' });
    await replyFromUs(first);

    expect((await second.ask(referTo('msg_a1'))).status).toBe(200);
    expect((await second.ask(referTo('msg_a1'), 'k2')).status).toBe(404);
    expect(second.hosts()).toEqual(['us']);
  });
});

it('calls that refer to nothing ask no store, whatever they contain', async () => {
  const unasked = (): never => {
    throw new Error('asked');
  };
  const index: ResponseIndex = {
    durability: 'process',
    remember: () => {},
    find: unasked,
    forget: unasked,
  };
  const gateway = responsesGateway({ options: { responses: { index } } });

  for (const members of [
    {},
    { input: [{ role: 'user', content: 'previous_response_id' }] },
    { input: [{ type: 'message', id: 'msg_own', role: 'user', content: 'hi' }] },
    { input: [{ type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' }] },
    { previous_response_id: null, input: [{ type: 'reasoning', id: null, summary: [] }] },
  ]) {
    expect((await gateway.ask(members)).status).toBe(200);
  }
  expect(gateway.eventTypes()).not.toContain('port_failed');
});

it('unknown references may be relayed', async () => {
  const gateway = responsesGateway({ options: { responses: { unknownReferences: 'relay' } } });

  expect((await gateway.ask(continueFrom('resp_9'))).status).toBe(200);
  expect((await gateway.ask(referTo('msg_tg_9'))).status).toBe(404);
});
