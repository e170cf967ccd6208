// suite: quick
/** `dedupeSdkRetries`: a call that OpenAI's SDKs mark as a retry joins the attempt before it. */
import { describe, expect, it } from 'vitest';
import {
  type CallerRequest,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { chat, completeReply, replies, sampleRequests } from '../../support/models.ts';
import { turns } from '../ports/failing.ts';
import { costs, keyed, keyedKinds, sharedStores } from './idempotent-calls.ts';

describe.each(keyedKinds)('%s with a retry count', (kind) => {
  it('joins the attempt that is still running', async () => {
    const { start, upstream, state } = deduping();
    const first = start(withRetryCount(sampleRequests[kind], '0'));
    const up = await upstream.next();
    first.disconnect();
    const second = start(withRetryCount(sampleRequests[kind], '1'));
    await turns();

    completeReply(kind)(up);

    expect((await second.reply).text).toBe(replies[kind]);
    expect((await second.reply).headers['idempotent-replayed']).toBe('true');
    expect(upstream.calls).toHaveLength(1);
    expect(await state()).toEqual({ held: 0n, used: costs[kind], inFlight: 0 });
  });

  it('gets the reply of an attempt that ended less than five minutes ago', async () => {
    const { call, clock, upstream } = deduping({
      handlers: [completeReply(kind), completeReply(kind)],
    });
    await call(withRetryCount(sampleRequests[kind], undefined));
    await turns();

    clock.advance(300_000 - 1);
    const late = await call(withRetryCount(sampleRequests[kind], '2'));
    clock.advance(1);
    const tooLate = await call(withRetryCount(sampleRequests[kind], '2'));

    expect(late.headers['idempotent-replayed']).toBe('true');
    expect(tooLate.text).toBe(replies[kind]);
    expect(tooLate.headers).not.toHaveProperty('idempotent-replayed');
    expect(upstream.calls).toHaveLength(2);
  });

  it('is not bought again if the attempt before it may have run', async () => {
    const { call, upstream } = deduping({
      handlers: [(up) => up.answer(500, {}), completeReply(kind)],
    });
    const first = await call(withRetryCount(sampleRequests[kind], '0'));

    const second = await call(withRetryCount(sampleRequests[kind], '1'));

    expect([first.status, second.status]).toEqual([502, 502]);
    expect(second.headers['x-should-retry']).toBe('false');
    expect(upstream.calls).toHaveLength(1);
  });

  it('runs if the attempt before it certainly did not', async () => {
    const { call } = deduping({
      handlers: [(up) => up.answer(429, { error: { message: 'Slow down.' } }), completeReply(kind)],
    });
    await call(withRetryCount(sampleRequests[kind], '0'));

    expect((await call(withRetryCount(sampleRequests[kind], '1'))).text).toBe(replies[kind]);
  });

  it.each([
    '0',
    undefined,
    '',
    '-1',
    '1.5',
    '01',
    'x',
    '1, 1',
  ])('of %j is a separate call, even if its body is equal', async (count) => {
    const { call, upstream, state } = deduping({
      handlers: [completeReply(kind), completeReply(kind)],
    });
    await call(withRetryCount(sampleRequests[kind], '0'));
    await turns();

    const second = await call(withRetryCount(sampleRequests[kind], count));

    expect(second.headers).not.toHaveProperty('idempotent-replayed');
    expect(upstream.calls).toHaveLength(2);
    expect(await state()).toMatchObject({ used: 2n * costs[kind] });
  });

  it('joins the latest equal call', async () => {
    const { start, call, upstream } = deduping();
    const older = start(withRetryCount(sampleRequests[kind], '0'));
    const slow = await upstream.next();
    const newer = start(withRetryCount(sampleRequests[kind], '0'));
    const quick = await upstream.next();
    const retry = start(withRetryCount(sampleRequests[kind], '1'));
    await turns();

    completeReply(kind)(quick);
    const newerId = (await newer.reply).headers['x-request-id'];
    expect((await retry.reply).headers['original-request']).toBe(newerId);
    completeReply(kind)(slow);
    await older.reply;
    await turns();

    const late = await call(withRetryCount(sampleRequests[kind], '2'));
    expect(late.headers['original-request']).toBe(newerId);
    expect(upstream.calls).toHaveLength(2);
  });

  it('joins an attempt in another gateway over the same stores', async () => {
    const stores = sharedStores();
    const options = { dedupeSdkRetries: true };
    const there = stores.gateway({ options, handlers: [completeReply(kind)] });
    const here = stores.gateway({ options });
    await there.call(withRetryCount(sampleRequests[kind], '0'));
    await turns();

    const { text, headers } = await here.call(withRetryCount(sampleRequests[kind], '1'));

    expect(text).toBe(replies[kind]);
    expect(headers['idempotent-replayed']).toBe('true');
    expect(here.upstream.calls).toEqual([]);
  });
});

it('another body is another call, and a stream is never joined', async () => {
  const { call, upstream } = deduping({
    handlers: [
      completeReply('chat'),
      completeReply('chat'),
      completeReply('chatStream'),
      completeReply('chatStream'),
    ],
  });
  await call(withRetryCount(sampleRequests.chat, '0'));

  await call(withRetryCount(chat({ user: 'u' }), '1'));
  await call(withRetryCount(sampleRequests.chatStream, '0'));
  await call(withRetryCount(sampleRequests.chatStream, '1'));

  expect(upstream.calls).toHaveLength(4);
});

it('a key takes precedence over a retry count', async () => {
  const { call, upstream } = deduping({ handlers: [completeReply('chat'), completeReply('chat')] });
  await call(withRetryCount(sampleRequests.chat, '0'));
  await turns();

  await call(keyed(sampleRequests.chat, 'k1', { 'x-stainless-retry-count': '1' }));

  expect(upstream.calls).toHaveLength(2);
});

it('the retry count is ignored unless the host opts in', async () => {
  const { start, call, upstream } = gatewayInProcess({
    handlers: [completeReply('chat'), completeReply('chat')],
  });
  await call(withRetryCount(sampleRequests.chat, '0'));
  await call(withRetryCount(sampleRequests.chat, '1'));
  expect(upstream.calls).toHaveLength(2);
  await upstream.next();
  await upstream.next();

  const disconnecting = start(withRetryCount(sampleRequests.chat, '0'));
  const up = await upstream.next();
  disconnecting.disconnect();

  expect(await up.aborted).toBe('caller_left');
});

function deduping(setup: GatewaySetup = {}): InProcessGateway {
  return gatewayInProcess({ ...setup, options: { dedupeSdkRetries: true, ...setup.options } });
}

/** The same call, with the retry count of an SDK. */
function withRetryCount(request: CallerRequest, count: string | undefined): CallerRequest {
  return count === undefined
    ? request
    : { ...request, headers: { 'x-stainless-retry-count': count } };
}
