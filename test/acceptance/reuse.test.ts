// suite: slow host
/** A stream is complete at its last event, and the upstream's connection is reused. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate, sse } from '../../src/testing/providers/scripts.ts';
import { chatBody } from '../support/bodies.ts';
import { bearer, type MountedGateway, mountedGateway } from '../support/mounted-gateway.ts';

let harness: MountedGateway;

beforeEach(async () => {
  harness = await mountedGateway();
});

afterEach(() => harness.close());

const delta = { choices: [{ index: 0, delta: { content: 'one' } }] };

describe('an upstream that after [DONE]', () => {
  it('ends a little later does not delay the caller, and its connection is reused', async () => {
    const held = gate();
    harness.upstream.enqueue(sse([delta, '[DONE]', held.opened]));

    const streamed = await chat({ stream: true });
    const record = await harness.nextRecord();
    const first = await harness.upstream.nextCall();
    held.open();
    const closed = await first.closed;
    await chat({});
    const second = await harness.upstream.nextCall();

    expect(streamed.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(record).toMatchObject({ status: 200, outcome: 'complete' });
    expect(closed).toBe('ended');
    expect(second.connectionId).toBe(first.connectionId);
  });

  it('never ends is disconnected', async () => {
    harness.upstream.enqueue({ ...sse([delta, '[DONE]']), ending: 'hang' });

    await chat({ stream: true });
    const call = await harness.upstream.nextCall();

    expect(await call.closed).toBe('aborted');
  });
});

async function chat(change: object): Promise<supertest.Response> {
  return supertest(harness.origin)
    .post('/v1/chat/completions')
    .set(bearer(harness.secrets.chat))
    .send({ ...chatBody, ...change })
    .expect(200);
}
