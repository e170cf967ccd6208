/** How clients fail: every failure is raised, with a message and without hanging. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { gate } from '../../src/testing/index.ts';
import { failureOf, pairs, started } from './pairs.ts';

describe.each(pairs(11))('%s', (_name, pair) => {
  const { client } = pair;
  const question = { prompt: 'Hello!' };

  it('raises a failure before the first byte', async () => {
    const { target } = await started(pair, onTestFinished);

    const failure = await failureOf(client.ask(target('demo-500'), question));

    expect(failure.status).toBe(502);
    expect(failure.message).toMatch(/upstream|provider/i);
  });

  it('raises 429 with the time after which to retry', async () => {
    const { target } = await started(pair, onTestFinished);

    const failure = await failureOf(client.ask(target('demo-429'), question));

    expect(failure).toMatchObject({ status: 429, retryAfter: expect.stringMatching(/^\d+$/) });
    expect(failure.message).toMatch(/too many requests/i);
  });

  it('raises a wrong key and an unknown model', async () => {
    const { target } = await started(pair, onTestFinished);
    const right = target('plain');

    const wrongKey = await failureOf(client.ask({ ...right, apiKey: 'tg_wrong' }, question));
    const unknown = await failureOf(client.ask({ ...right, model: 'nothing' }, question));

    expect(wrongKey).toMatchObject({ status: 401, message: expect.stringMatching(/key/i) });
    expect(unknown).toMatchObject({ status: 404, message: expect.stringContaining('nothing') });
  });

  it.each(['demo-error-event', 'demo-cut'])('raises %s, which fails half-way', async (model) => {
    const { target } = await started(pair, onTestFinished);

    const failure = await failureOf(client.ask(target(model), question));

    expect(failure.message).toMatch(/upstream|provider|overloaded|server had an error/i);
  });

  it.runIf(client.streams)('stops in the middle of a stream when it is aborted', async () => {
    const { target } = await started(pair, onTestFinished);
    const abort = new AbortController();
    const texts: string[] = [];
    const onText = (text: string): void => {
      texts.push(text);
      abort.abort();
    };

    const failure = await failureOf(
      client.ask(target('demo-stall'), { ...question, signal: abort.signal, onText }),
    );

    expect(failure.message).toMatch(/abort/i);
    expect(texts.length).toBeGreaterThan(0);
  });

  it.runIf(client.abortsEarly ?? true)('aborts the call when it is aborted', async () => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    const forever = gate();
    onTestFinished(forever.open);
    fake.enqueue({ waitFor: forever.opened });
    const abort = new AbortController();

    const failing = failureOf(client.ask(target('plain'), { ...question, signal: abort.signal }));
    const call = await fake.nextCall();
    abort.abort();

    expect((await failing).message).toMatch(/abort/i);
    expect(await call.closed).toBe('aborted');
  });
});
