/** Every recorded reply is passed on unchanged, except for usage events, errors and framing. */
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  type Asked,
  chat,
  chatWithUsage,
  images,
  native,
  type TestGateway,
  testGateway,
  wholeChat,
} from '../support/call-gateway.ts';
import { type Fixture, fixture } from '../support/fixtures.ts';
import { type Played, playedUpstream } from '../support/played-upstream.ts';
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
    const { answer, gateway } = await relayed(json(recorded.response), wholeRequest(recorded));

    expect(answer.status).toBe(200);
    expect(answer.bytes.equals(recorded.response)).toBe(true);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(gateway.records[0]).toMatchObject({
      outcome: 'complete',
      usage: usageOf(doorOf(recorded), recorded.response.toString()),
    });
  });

  it('with Base64 images is relayed byte for byte, with their number', async () => {
    const { response } = fixture('openai-images/v-image-edit');

    const { answer, gateway } = await relayed(json(response), images());

    expect(answer.bytes.equals(response)).toBe(true);
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
    const { answer } = await relayed(json(recorded.response), images());

    expect([400, 502]).toContain(answer.status);
    expect(Object.keys(JSON.parse(answer.text))).toEqual(['error']);
    expect(answer.text).not.toContain('http');
  });
});

describe('a streamed reply', () => {
  it.each(
    streams.map(named),
  )('%s is passed on, except for what may change', async (_, recorded) => {
    const door = doorOf(recorded);
    const text = recorded.response.toString();
    const expected = door === 'native' ? relayedNative(text) : relayedChat(text, false);

    const { answer, gateway } = await relayed(sse(...firstApart(recorded)), streamed(door));

    expect(answer.status).toBe(200);
    const { before, outcome } = expected.broken
      ? { before: brokenStream(door, answer)?.before, outcome: 'broken' }
      : { before: answer.text, outcome: 'complete' };
    expect(before).toBe(expected.text);
    expect(gateway.records[0]).toMatchObject({ outcome, usage: usageOf(door, text) });
  });

  it.each(
    streams.filter((recorded) => doorOf(recorded) === 'chat').map(named),
  )('%s keeps its usage event for a caller that requested it', async (_, recorded) => {
    const { answer } = await relayed(sse(recorded.response), chat(chatWithUsage));

    expect(answer.bytes.equals(recorded.response)).toBe(true);
  });

  it.each(streams.map(named))('%s does not depend on its chunks', async (_, recorded) => {
    const door = doorOf(recorded);
    const { response } = recorded;
    const plain = await relayed(sse(...firstApart(recorded)), streamed(door));
    const cuts = [pieces(response, 1), pieces(response, 2)];
    if (response.length < 4_000) cuts.push(bytewise(response));

    for (const chunks of cuts) {
      const cut = await relayed(sse(...chunks), streamed(door));

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
    const door = doorOf(recorded);
    const played: Played = { ...json(recorded.response), status: recorded.status };
    const asked = door === 'images' ? images() : wholeRequest(recorded);

    const { answer } = await relayed(played, asked);

    const expected = { 400: [400, 502], 403: [502], 404: [502], 429: [429] }[recorded.status];
    expect(expected).toContain(answer.status);
    expect(Object.keys(JSON.parse(answer.text))).toEqual(['error']);
    expect(answer.text).not.toContain(recorded.response.toString().trim());
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

function wholeRequest(recorded: Fixture): Asked {
  return doorOf(recorded) === 'native' ? native('json') : chat(wholeChat);
}

async function relayed(
  played: Played,
  asked: Asked,
): Promise<{ readonly answer: Answer; readonly gateway: TestGateway }> {
  const gateway = testGateway({ upstream: playedUpstream(played) });
  return { answer: await gateway.call(asked), gateway };
}

function figuresOf({ records }: TestGateway): unknown {
  return records.map(({ usage, basis, chargeNanos, outcome, reason }) => ({
    usage,
    basis,
    chargeNanos,
    outcome,
    reason,
  }));
}
