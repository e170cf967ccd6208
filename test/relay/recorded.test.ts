// suite: slow
/** Every recorded reply is passed on unchanged, except for usage events, errors and framing. */
import { describe, expect, it } from 'vitest';
import {
  type AnyModelGateway,
  anyModelGateway,
  type CallerRequest,
  chat,
  chatWithUsage,
  images,
  native,
  wholeChat,
} from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { type Fixture, fixture } from '../support/recorded/fixtures.ts';
import { someOf } from '../support/sample.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { doorOf, relayedChat, relayedNative, usageOf } from './oracle.ts';
import {
  brokenStream,
  bytewise,
  json,
  pieces,
  recordings,
  sse,
  streamed,
  streams,
} from './streams.ts';

const whole = recordings.filter(
  ({ streamed: isStream, status, name }) =>
    !isStream && status === 200 && doorOf(fixture(name)) !== 'images',
);

describe('a whole reply', () => {
  it.each(whole.map(named))('%s is relayed byte for byte, with its usage', async (_, recorded) => {
    const { answer: reply, gateway } = await relayed(
      json(recorded.response),
      wholeRequest(recorded),
    );

    expect(reply.status).toBe(200);
    expect(reply.bytes.equals(recorded.response)).toBe(true);
    expect(reply.headers['content-type']).toBe('application/json');
    expect(gateway.records[0]).toMatchObject({
      outcome: 'complete',
      usage: usageOf(doorOf(recorded), recorded.response.toString()),
    });
    expect(gateway.events.filter(({ type }) => type === 'unknown_usage')).toEqual([]);
  });

  it('with Base64 images is relayed byte for byte, with their number', async () => {
    const { response } = fixture('openai-images/v-image-edit');

    const { answer: reply, gateway } = await relayed(json(response), images());

    expect(reply.bytes.equals(response)).toBe(true);
    expect(gateway.records[0]?.usage).toMatchObject({ images: 1 });
  });
});

describe('a recorded image reply without an image', () => {
  const bare = recordings.filter(
    (one) =>
      doorOf(one) === 'images' && one.status === 200 && one.name !== 'openai-images/v-image-edit',
  );

  // A URL is not accepted as an image, and an error may come with any status.
  it.each(bare.map(named))('%s is refused with the gateway’s own text', async (_, recorded) => {
    const { answer: reply } = await relayed(json(recorded.response), images());

    expect([400, 502]).toContain(reply.status);
    expect(Object.keys(JSON.parse(reply.text))).toEqual(['error']);
    expect(reply.text).not.toContain('http');
  });
});

describe('a streamed reply', () => {
  it.each(
    streams.map(named),
  )('%s is passed on, except for what may change', async (_, recorded) => {
    const api = doorOf(recorded);
    const text = recorded.response.toString();
    const expected = api === 'native' ? relayedNative(text) : relayedChat(text, false);

    const { answer: reply, gateway } = await relayed(sse(...firstApart(recorded)), streamed(api));

    expect(reply.status).toBe(200);
    const { before, outcome } = expected.broken
      ? { before: brokenStream(api, reply)?.before, outcome: 'broken' }
      : { before: reply.text, outcome: 'complete' };
    expect(before).toBe(expected.text);
    expect(gateway.records[0]).toMatchObject({ outcome, usage: usageOf(api, text) });
    expect(gateway.events.filter(({ type }) => type === 'unknown_usage')).toEqual([]);
  });

  it.each(
    streams.filter((recorded) => doorOf(recorded) === 'chat').map(named),
  )('%s keeps its usage event for a caller that requested it', async (_, recorded) => {
    const { answer: reply } = await relayed(sse(recorded.response), chat(chatWithUsage));

    expect(reply.bytes.equals(recorded.response)).toBe(true);
  });

  it.each(streams.map(named))('%s does not depend on its chunks', async (_, recorded) => {
    const api = doorOf(recorded);
    const { response } = recorded;
    const plain = await relayed(sse(...firstApart(recorded)), streamed(api));
    const cuts = [pieces(response, 1), pieces(response, 2)];
    if (response.length < 4_000) cuts.push(bytewise(response));

    for (const chunks of someOf(cuts)) {
      const cut = await relayed(sse(...chunks), streamed(api));

      expect(cut.answer.text).toBe(plain.answer.text);
      expect(figuresOf(cut.gateway)).toEqual(figuresOf(plain.gateway));
    }
  });
});

describe('a recorded refusal', () => {
  const refused = recordings.filter(({ status }) => status !== 200);

  it.each(
    refused.map(named),
  )('%s is rewritten with the gateway’s own text', async (_, recorded) => {
    const api = doorOf(recorded);
    const scripted: ScriptedReply = { ...json(recorded.response), status: recorded.status };
    const request = api === 'images' ? images() : wholeRequest(recorded);

    const { answer: reply } = await relayed(scripted, request);

    // A 403 that names the model says that the account does not have it.
    const expected = { 400: [400, 502], 403: [404, 502], 404: [404], 429: [429] }[recorded.status];
    expect(expected).toContain(reply.status);
    expect(Object.keys(JSON.parse(reply.text))).toEqual(['error']);
    expect(reply.text).not.toContain(recorded.response.toString().trim());
  });
});

function named(recorded: Fixture): [string, Fixture] {
  return [recorded.name, recorded];
}

/**
 * Sends the first event separately, because an error that arrives with it becomes a status instead.
 */
function firstApart({ response }: Fixture): readonly Uint8Array[] {
  const end = /\r?\n\r?\n/.exec(Buffer.from(response).toString('latin1'));
  const at = end === null ? response.length : end.index + end[0].length;
  return [response.subarray(0, at), response.subarray(at)].filter(({ length }) => length > 0);
}

function wholeRequest(recorded: Fixture): CallerRequest {
  return doorOf(recorded) === 'native' ? native('json') : chat(wholeChat);
}

async function relayed(
  scripted: ScriptedReply,
  request: CallerRequest,
): Promise<{ readonly answer: CallerReply; readonly gateway: AnyModelGateway }> {
  const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted) });
  return { answer: await gateway.call(request), gateway };
}

function figuresOf({ records }: AnyModelGateway): unknown {
  return records.map(({ usage, basis, chargeNanos, outcome, reason }) => ({
    usage,
    basis,
    chargeNanos,
    outcome,
    reason,
  }));
}
