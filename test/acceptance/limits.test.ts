// suite: slow host
/** The limits of request bodies: size, time and content type. */

import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import supertest from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../src/gateway-options.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { gate } from '../../src/testing/providers/scripts.ts';
import { chatBody, imageBody, messagesBody, nativeBody } from '../support/bodies.ts';
import {
  bearer,
  type MountedGateway,
  mountedGateway,
  vendorKey,
} from '../support/mounted-gateway.ts';
import { connectRaw, exchangeRaw, rawRequest } from '../support/raw-http.ts';

let harness: MountedGateway;

async function set(options: Partial<GatewayOptions> = {}): Promise<void> {
  harness = await mountedGateway(options);
}

afterEach(() => harness.close());

const large = {
  error: {
    message: 'The request body is larger than 200 bytes. Send a smaller one.',
    type: 'invalid_request_error',
    param: null,
    code: 'body_too_large',
  },
};

describe('a body above the limit gets 413', () => {
  it('immediately where its length says so, before a byte of it is read', async () => {
    await set({ maxBodyBytes: 200 });

    const answer = await exchangeRaw(
      harness.origin,
      rawRequest('POST /v1/chat/completions', {
        ...bearer(harness.secrets.chat),
        'content-length': '201',
      }),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 413 .*\r\nconnection: close\r\n/is);
    expect(answer.endsWith(JSON.stringify(large))).toBe(true);
  });

  it('as soon as it exceeds the limit where it has no length and no end', async () => {
    await set({ maxBodyBytes: 200 });
    const wire = await connectRaw(harness.origin);
    wire.write(
      rawRequest('POST /v1/chat/completions', {
        ...bearer(harness.secrets.chat),
        'transfer-encoding': 'chunked',
      }),
    );
    wire.write(`c8\r\n${' '.repeat(200)}\r\n1\r\n \r\n`);

    const answer = await wire.rest;

    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer.endsWith(JSON.stringify(large))).toBe(true);
  });

  it('in Google’s form on a native path', async () => {
    await set({ maxBodyBytes: 200 });

    const response = await supertest(harness.origin)
      .post('/v1beta/models/native-1:generateContent')
      .set(vendorKey(harness.secrets.native))
      .send({ ...nativeBody, x: 'x'.repeat(200) })
      .expect(413);

    expect(response.body.error).toEqual({
      code: 413,
      message: large.error.message,
      status: 'INVALID_ARGUMENT',
    });
  });

  it('and one of exactly the limit is served', async () => {
    const body = JSON.stringify(chatBody);
    await set({ maxBodyBytes: body.length });

    await chat(body).expect(200);
    await chat(`${body} `).expect(413);
  });

  it('of 1 MiB by default for an image, of 32 MiB for a chat', async () => {
    await set();
    const prompt = 'x'.repeat(1024 * 1024);

    const response = await supertest(harness.origin)
      .post('/v1/images/generations')
      .set(bearer(harness.secrets.image))
      .send({ ...imageBody, prompt });
    await chat({ ...chatBody, x: prompt }).expect(200);

    expect(response.status).toBe(413);
  });

  it('of 32 MiB by default for Messages, as Anthropic has it, and no byte more', async () => {
    await set();
    const whole = messageOf(32 * 1024 * 1024);

    const served = await message(whole).expect(200);
    const refused = await message(`${whole} `).expect(413);

    expect(served.body).toMatchObject({ type: 'message', stop_reason: 'end_turn' });
    expect(refused.body).toMatchObject({ type: 'error', error: { type: 'request_too_large' } });
  });
});

/** A request of so many bytes, most of which are an image. */
function messageOf(bytes: number): string {
  const withData = (data: string): string => {
    const source = { type: 'base64', media_type: 'image/png', data };
    const content = [{ type: 'image', source }];
    return JSON.stringify({ ...messagesBody, messages: [{ role: 'user', content }] });
  };
  const data = 'iVBORw0KGgo'.padEnd(Math.floor((bytes - withData('').length) / 4) * 4, 'A');
  return withData(data).padEnd(bytes, ' ');
}

function message(body: string): supertest.Test {
  return supertest(harness.origin)
    .post('/v1/messages')
    .set('x-api-key', harness.secrets.chat)
    .type('application/json')
    .send(body);
}

describe('a body is read', () => {
  it('in chunks of one byte', async () => {
    await set();
    const head = rawRequest('POST /v1/chat/completions', {
      ...bearer(harness.secrets.chat),
      'transfer-encoding': 'chunked',
      connection: 'close',
    });
    const chunks = [...JSON.stringify(chatBody)].map((byte) => `1\r\n${byte}\r\n`).join('');

    const answer = await exchangeRaw(harness.origin, `${head}${chunks}0\r\nx-trailer: 1\r\n\r\n`);

    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(harness.upstream.calls[0]?.json()).toMatchObject({ messages: chatBody.messages });
  });

  it('after 100 Continue where the caller asks for it', async () => {
    await set();
    const wire = await connectRaw(harness.origin);
    const body = JSON.stringify(chatBody);
    wire.write(
      rawRequest('POST /v1/chat/completions', {
        ...bearer(harness.secrets.chat),
        'content-length': String(body.length),
        expect: '100-continue',
        connection: 'close',
      }),
    );
    await wire.until('HTTP/1.1 100 Continue\r\n\r\n');
    wire.write(body);

    expect(await wire.rest).toContain('HTTP/1.1 200 OK');
  });

  it('for ten seconds, and no longer while nothing arrives', async () => {
    const clock = fakeClock();
    await set({ clock });
    const wire = await connectRaw(harness.origin);
    wire.write(
      rawRequest('POST /v1/chat/completions', {
        ...bearer(harness.secrets.chat),
        'content-length': '100',
        expect: '100-continue',
      }),
    );
    await wire.until('100 Continue');
    // The timeout is checked from the next turn of the event loop on.
    await setImmediate();

    clock.advance(12_000);

    // The server closes, because the rest of the body would precede the next request.
    const answer = await wire.rest;
    expect(answer).toMatch(/HTTP\/1\.1 400 .*\r\nconnection: close\r\n/is);
    expect(answer).toContain('The request body arrived too slowly.');
    expect(harness.upstream.calls).toEqual([]);
  });

  it('only while all bodies together fit, else 503 with Retry-After', async () => {
    await set({ maxBodyBytes: 100, maxImageBodyBytes: 100, maxBufferedBytes: 100 });
    const held = gate();
    harness.upstream.enqueue({ waitFor: held.opened });
    const first = chat(chatBody).then(({ status }) => status);
    await harness.upstream.nextCall();

    const response = await chat(chatBody).expect(503);
    held.open();
    await first;

    expect(response.body.error).toMatchObject({ type: 'server_error', code: 'overloaded' });
    expect(response.headers['retry-after']).toBe('1');
    await chat(chatBody).expect(200);
  });

  it('and closes the connection where that was found in the middle of the body', async () => {
    await set({ maxBodyBytes: 200, maxImageBodyBytes: 200, maxBufferedBytes: 200 });
    const wire = await connectRaw(harness.origin);
    wire.write(
      rawRequest('POST /v1/chat/completions', {
        ...bearer(harness.secrets.chat),
        'content-length': '200',
        expect: '100-continue',
      }),
    );
    await wire.until('100 Continue');
    const held = gate();
    harness.upstream.enqueue({ waitFor: held.opened });
    const first = chat({ ...chatBody, user: 'x'.repeat(80) }).then(({ status }) => status);
    await harness.upstream.nextCall();

    wire.write(' '.repeat(199));

    expect(await wire.rest).toMatch(/HTTP\/1\.1 503 .*\r\nconnection: close\r\n/is);
    held.open();
    await first;
  });
});

describe('a body is JSON', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"; v=1',
  ])('with the content type %s', async (type) => {
    await set();

    await chat(JSON.stringify(chatBody)).set('content-type', type).expect(200);
  });

  it('even without a content type', async () => {
    await set();

    const answer = await exchangeRaw(
      harness.origin,
      rawRequest(
        'POST /v1/chat/completions',
        { ...bearer(harness.secrets.chat), connection: 'close' },
        JSON.stringify(chatBody),
      ),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  it.each([
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/jsonx',
  ])('and no other type: %s gets 415', async (type) => {
    await set();

    const response = await chat(JSON.stringify(chatBody)).set('content-type', type).expect(415);

    expect(response.body.error).toMatchObject({
      type: 'invalid_request_error',
      code: 'unsupported_media_type',
    });
  });

  it('uncompressed: gzip gets 415', async () => {
    await set();

    const response = await supertest(harness.origin)
      .post('/v1/chat/completions')
      .set({ ...bearer(harness.secrets.chat), 'content-encoding': 'gzip' })
      .type('application/json')
      .serialize(String)
      .send(gzipSync(JSON.stringify(chatBody)).toString('latin1'))
      .expect(415);

    expect(response.body.error.code).toBe('unsupported_media_type');
  });
});

function chat(body: object | string): supertest.Test {
  return supertest(harness.origin)
    .post('/v1/chat/completions')
    .set(bearer(harness.secrets.chat))
    .type('application/json')
    .send(body);
}
