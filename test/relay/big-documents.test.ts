// suite: slow
/**
 * Documents above 64 KiB are checked as they pass: an image URL is not accepted as an image, and an
 * upstream's error is not passed on.
 */
import { describe, expect, it } from 'vitest';
import { documentTap } from '../../src/dialects/taps/document-tap.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  images,
  upstreamSecret,
  wholeChat,
} from '../support/any-model-gateway.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { json } from './streams.ts';

const filler = 'x'.repeat(80_000);
const address = '"url":"https://gpu7.internal.example/a.png"';
const base64 = `{"b64_json":"${'A'.repeat(100_000)}"}`;

describe('a document above 64 KiB', () => {
  const cases: readonly (readonly [string, CallerRequest, ScriptedReply, string])[] = [
    [
      'of images that are only addresses',
      images(),
      json(`{"data":[{${address}},{"revised_prompt":"${filler}"}]}`),
      'upstream_image_not_base64',
    ],
    [
      'that is an error, too long to keep',
      chat(wholeChat),
      json(`{"error":{"message":"${upstreamSecret} ${filler}"}}`),
      'upstream_error',
    ],
    [
      'that begins with an error',
      chat(wholeChat),
      json(`{"error":{"message":"${upstreamSecret}"},"filler":"${filler}"}`),
      'upstream_error',
    ],
  ];

  it.each(cases)('%s is a 502', async (_, request, scripted, reason) => {
    const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted) });

    const reply = await gateway.call(request);

    expect(reply.status).toBe(502);
    expect(reply.text).not.toMatch(/gpu7|account-secret/);
    expect(gateway.records[0]?.reason).toBe(reason);
  });

  it('with an image URL is cut before it, and the image may have been made', async () => {
    const scripted = json(`{"data":[${base64},`, `{${address}}]}`);
    const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted) });

    const reply = await gateway.call(images());

    expect(reply.isCut).toBe(true);
    expect(reply.text).not.toContain('gpu7');
    expect(gateway.records[0]).toMatchObject({ outcome: 'unknown', chargeNanos: 0n });
  });

  it('without an image in it is cut, and nothing is charged', async () => {
    const scripted = json(`{"filler":"${filler}","data":[]}`);
    const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted) });

    const reply = await gateway.call(images());

    expect(reply.isCut).toBe(true);
    expect(gateway.records[0]).toMatchObject({ outcome: 'unknown', chargeNanos: 0n });
  });
});

it('a document without an end is cut at 512 MiB', () => {
  const tap = documentTap({
    usageMember: 'usage',
    readUsage: () => undefined,
    inBandFailure: () => undefined,
    isImageReply: false,
  });
  const piece = Buffer.alloc(32 * 1024 * 1024, 'a');
  tap.write(Buffer.from('{"a":"'));
  for (let written = 0; written < 15; written += 1) tap.write(piece);

  expect(() => tap.write(piece)).toThrow('reply_too_large');
});
