// suite: slow host
/** Requests to AWS are signed as its servers verify them. */
import { tmpdir } from 'node:os';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { bedrock } from '../../../src/platforms/bedrock/bedrock.ts';
import { anyModelGateway, messages } from '../../support/any-model-gateway.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { apiKey, arn, hello, keys, modelId, region, workspaceId } from './calls.ts';
import { type Recorder, startRecorder } from './recorder.ts';
import { signatureFacts } from './signature.ts';

let recorder: Recorder;

beforeAll(async () => {
  recorder = await startRecorder();
});
afterAll(() => recorder.close());

describe('a signed request', () => {
  const scopes = [
    ['runtime', '', 'bedrock'],
    ['mantle', '/anthropic/v1', 'bedrock-mantle'],
    ['anthropic', '/v1', 'aws-external-anthropic'],
  ] as const;

  it.each(scopes)('on %s is verified by AWS', async (kind, path, service) => {
    const { sessionToken: _, ...plain } = keys;
    for (const credential of [keys, plain]) {
      for (const upstreamModel of [modelId, arn, "odd !'()*&=+ name"]) {
        const workspace = kind === 'anthropic' ? { workspaceId } : {};
        const place = bedrock({ region, kind, baseUrl: `${recorder.origin}${path}`, ...workspace });
        const channel = { ...place, credential: () => credential, upstreamModel };
        const sent = await recorder.throughGateway(channel, hello, { search: 'beta=true' });

        expect(signatureFacts(sent, keys.secretAccessKey)).toMatchObject({
          accessKeyId: keys.accessKeyId,
          region,
          service,
          isValid: true,
        });
        expect(sent.headers['x-amz-security-token']).toBe(
          'sessionToken' in credential ? credential.sessionToken : undefined,
        );
        expect(sent.headers['x-api-key']).toBe(undefined);
      }
    }
  });

  it('is signed anew for each attempt with the keys that are valid then', async () => {
    let turn = 0;
    const renewed = [keys, { ...keys, accessKeyId: 'AKIAIOSFODNN7RENEWED' }];
    const channel = {
      ...bedrock({ region, kind: 'runtime', baseUrl: recorder.origin }),
      credential: () => renewed[turn++] ?? keys,
    };
    recorder.refuseNext(403, { 'x-amzn-errortype': 'ExpiredTokenException' });
    const sent = await recorder.throughGateway(channel, hello);

    expect(turn).toBe(2);
    expect(signatureFacts(sent, keys.secretAccessKey)).toMatchObject({
      accessKeyId: 'AKIAIOSFODNN7RENEWED',
      isValid: true,
    });
  });

  it('is none that has an API key', async () => {
    const place = bedrock({ region, kind: 'runtime', baseUrl: recorder.origin });
    const channel = { ...place, credential: apiKey };
    const sent = await recorder.throughGateway(channel, hello);

    expect(sent.headers['x-amz-date']).toBe(undefined);
    expect(sent.headers.authorization).toBe(`Bearer ${apiKey}`);
  });
});

describe('without the package that signs', () => {
  it('a call fails before it is sent, and its event names the package to install', async () => {
    // It is looked for in the folder of the process.
    vi.spyOn(process, 'cwd').mockReturnValue(tmpdir());
    const upstream = scriptedUpstream();
    const channel = { ...bedrock({ region, kind: 'runtime' }), credential: () => keys };
    const gateway = anyModelGateway({ upstream, channel });

    const { status } = await gateway.call(messages());
    vi.restoreAllMocks();

    expect(status).toBe(502);
    expect(upstream.requests).toEqual([]);
    const texts = gateway.events.map((event) => inspect(event, { showHidden: true, depth: 5 }));
    expect(texts.join()).toContain('npm install @smithy/signature-v4');
  });
});
