/** `dedupeSdkRetries`: a call that OpenAI's SDKs mark as a retry joins the attempt before it. */
import { describe, expect, it } from 'vitest';
import { turns } from './failing.ts';
import { costs, keyed, keyedKinds, shared } from './idempotency-scene.ts';
import { type Asked, type Scene, type SceneSetup, scene } from './scene.ts';
import { ask, chat, replies, whole } from './scene-models.ts';

describe.each(keyedKinds)('%s with a retry count', (kind) => {
  it('joins the attempt that is still running', async () => {
    const { start, upstream, state } = deduping();
    const first = start(withRetryCount(ask[kind], '0'));
    const up = await upstream.next();
    first.leave();
    const second = start(withRetryCount(ask[kind], '1'));
    await turns();

    whole(kind)(up);

    expect((await second.answer).text).toBe(replies[kind]);
    expect((await second.answer).headers['idempotent-replayed']).toBe('true');
    expect(upstream.calls).toHaveLength(1);
    expect(await state()).toEqual({ held: 0n, used: costs[kind], inFlight: 0 });
  });

  it('gets the reply of an attempt that ended less than five minutes ago', async () => {
    const { call, clock, upstream } = deduping({ plays: [whole(kind), whole(kind)] });
    await call(withRetryCount(ask[kind], undefined));
    await turns();

    clock.advance(300_000 - 1);
    const late = await call(withRetryCount(ask[kind], '2'));
    clock.advance(1);
    const tooLate = await call(withRetryCount(ask[kind], '2'));

    expect(late.headers['idempotent-replayed']).toBe('true');
    expect(tooLate.text).toBe(replies[kind]);
    expect(tooLate.headers).not.toHaveProperty('idempotent-replayed');
    expect(upstream.calls).toHaveLength(2);
  });

  it('is not bought again if the attempt before it may have run', async () => {
    const { call, upstream } = deduping({ plays: [(up) => up.answer(500, {}), whole(kind)] });
    const first = await call(withRetryCount(ask[kind], '0'));

    const second = await call(withRetryCount(ask[kind], '1'));

    expect([first.status, second.status]).toEqual([502, 502]);
    expect(second.headers['x-should-retry']).toBe('false');
    expect(upstream.calls).toHaveLength(1);
  });

  it('runs if the attempt before it certainly did not', async () => {
    const { call } = deduping({
      plays: [(up) => up.answer(429, { error: { message: 'Slow down.' } }), whole(kind)],
    });
    await call(withRetryCount(ask[kind], '0'));

    expect((await call(withRetryCount(ask[kind], '1'))).text).toBe(replies[kind]);
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
    const { call, upstream, state } = deduping({ plays: [whole(kind), whole(kind)] });
    await call(withRetryCount(ask[kind], '0'));
    await turns();

    const second = await call(withRetryCount(ask[kind], count));

    expect(second.headers).not.toHaveProperty('idempotent-replayed');
    expect(upstream.calls).toHaveLength(2);
    expect(await state()).toMatchObject({ used: 2n * costs[kind] });
  });

  it('joins the latest equal call', async () => {
    const { start, call, upstream } = deduping();
    const older = start(withRetryCount(ask[kind], '0'));
    const slow = await upstream.next();
    const newer = start(withRetryCount(ask[kind], '0'));
    const quick = await upstream.next();
    const retry = start(withRetryCount(ask[kind], '1'));
    await turns();

    whole(kind)(quick);
    const newerId = (await newer.answer).headers['x-request-id'];
    expect((await retry.answer).headers['original-request']).toBe(newerId);
    whole(kind)(slow);
    await older.answer;
    await turns();

    const late = await call(withRetryCount(ask[kind], '2'));
    expect(late.headers['original-request']).toBe(newerId);
    expect(upstream.calls).toHaveLength(2);
  });

  it('joins an attempt in another gateway over the same stores', async () => {
    const stores = shared();
    const options = { dedupeSdkRetries: true };
    const there = stores.gateway({ options, plays: [whole(kind)] });
    const here = stores.gateway({ options });
    await there.call(withRetryCount(ask[kind], '0'));
    await turns();

    const { text, headers } = await here.call(withRetryCount(ask[kind], '1'));

    expect(text).toBe(replies[kind]);
    expect(headers['idempotent-replayed']).toBe('true');
    expect(here.upstream.calls).toEqual([]);
  });
});

it('another body is another call, and a stream is never joined', async () => {
  const { call, upstream } = deduping({
    plays: [whole('chat'), whole('chat'), whole('chatStream'), whole('chatStream')],
  });
  await call(withRetryCount(ask.chat, '0'));

  await call(withRetryCount(chat({ user: 'u' }), '1'));
  await call(withRetryCount(ask.chatStream, '0'));
  await call(withRetryCount(ask.chatStream, '1'));

  expect(upstream.calls).toHaveLength(4);
});

it('a key takes precedence over a retry count', async () => {
  const { call, upstream } = deduping({ plays: [whole('chat'), whole('chat')] });
  await call(withRetryCount(ask.chat, '0'));
  await turns();

  await call(keyed(ask.chat, 'k1', { 'x-stainless-retry-count': '1' }));

  expect(upstream.calls).toHaveLength(2);
});

it('the retry count is ignored unless the host opts in', async () => {
  const { start, call, upstream } = scene({ plays: [whole('chat'), whole('chat')] });
  await call(withRetryCount(ask.chat, '0'));
  await call(withRetryCount(ask.chat, '1'));
  expect(upstream.calls).toHaveLength(2);
  await upstream.next();
  await upstream.next();

  const leaving = start(withRetryCount(ask.chat, '0'));
  const up = await upstream.next();
  leaving.leave();

  expect(await up.aborted).toBe('caller_left');
});

function deduping(setup: SceneSetup = {}): Scene {
  return scene({ ...setup, options: { dedupeSdkRetries: true, ...setup.options } });
}

/** The same call, with the retry count of an SDK. */
function withRetryCount(asked: Asked, count: string | undefined): Asked {
  return count === undefined ? asked : { ...asked, headers: { 'x-stainless-retry-count': count } };
}
