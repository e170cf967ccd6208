// suite: quick
/** What a channel on Bedrock may be, what is left out of its requests, and what nobody may see. */
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import { bedrock } from '../../../src/platforms/bedrock/bedrock.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import type { BedrockPlatform } from '../../../src/ports/models/platform.ts';
import { found } from '../../faults/canaries.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  messages,
  wholeMessage,
} from '../../support/any-model-gateway.ts';
import { model } from '../../support/models.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

describe('bedrock()', () => {
  it.each<[Omit<BedrockPlatform, 'name'>, string, string]>([
    [
      { region: 'us-east-1', kind: 'mantle' },
      'anthropic',
      'https://bedrock-mantle.us-east-1.api.aws/anthropic/v1',
    ],
    [
      { region: 'us-east-1', kind: 'mantle', dialect: 'openai' },
      'openai',
      'https://bedrock-mantle.us-east-1.api.aws/openai/v1',
    ],
    [
      { region: 'eu-west-1', kind: 'runtime' },
      'anthropic',
      'https://bedrock-runtime.eu-west-1.amazonaws.com',
    ],
    [
      { region: 'eu-west-1', kind: 'runtime', dialect: 'openai' },
      'openai',
      'https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1',
    ],
    [
      { region: 'cn-north-1', kind: 'runtime' },
      'anthropic',
      'https://bedrock-runtime.cn-north-1.amazonaws.com.cn',
    ],
    [
      { region: 'eusc-de-east-1', kind: 'runtime' },
      'anthropic',
      'https://bedrock-runtime.eusc-de-east-1.amazonaws.eu',
    ],
    [
      { region: 'us-west-2', kind: 'anthropic', workspaceId: 'wrkspc_1' },
      'anthropic',
      'https://aws-external-anthropic.us-west-2.api.aws/v1',
    ],
    [
      {
        region: 'us-west-2',
        kind: 'runtime',
        baseUrl: 'https://vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com',
      },
      'anthropic',
      'https://vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com',
    ],
  ])('%j is a valid channel', (options, dialect, baseUrl) => {
    const place = bedrock(options);

    expect(place).toEqual({ dialect, baseUrl, platform: { name: 'bedrock', ...options } });
    const protocols = dialect === 'openai' ? (['chat'] as const) : (['messages'] as const);
    const channels = [{ id: 'aws', credential: 'key', ...place }];
    expect(() => staticCatalog([model({ protocols, channels })])).not.toThrow();
  });

  const wrong: readonly (readonly [string, string])[] = [
    ['{"region":"us-east-1"}', 'kind must be'],
    ['{"region":"us-east-1","kind":"converse"}', 'kind must be'],
    ['{"region":"us-east-1","kind":"toString"}', 'kind must be'],
    ['{"kind":"mantle"}', 'region must be'],
    ['{"region":"us-east-1.evil.example/","kind":"mantle"}', 'region must be'],
    ['{"region":"","kind":"mantle"}', 'region must be'],
    [
      '{"region":"us-east-1","kind":"mantle","dialect":"gemini"}',
      'dialect must be anthropic or openai',
    ],
    [
      '{"region":"us-east-1","kind":"anthropic","dialect":"openai"}',
      'dialect must be anthropic with',
    ],
    ['{"region":"us-east-1","kind":"anthropic"}', 'workspaceId must be'],
    ['{"region":"us-east-1","kind":"mantle","workspaceId":"w"}', 'workspaceId is for the kind'],
  ];

  it.each(wrong)('refuses %s, in code and in data', (text, sentence) => {
    const options: Omit<BedrockPlatform, 'name'> = JSON.parse(text);
    const channel: Channel = JSON.parse(
      JSON.stringify({
        id: 'aws',
        dialect: 'anthropic',
        baseUrl: 'https://bedrock-mantle.us-east-1.api.aws/anthropic/v1',
        credential: 'key',
        platform: { name: 'bedrock', ...options },
      }),
    );

    expect(() => bedrock(options)).toThrow(sentence);
    expect(() => staticCatalog([model({ protocols: ['messages'], channels: [channel] })])).toThrow(
      /platform/,
    );
  });
});

const whole = {
  chunks: ['{"type":"message","content":[],"usage":{"input_tokens":1,"output_tokens":1}}'],
};

interface SendOptions {
  readonly betas?: string;
  readonly version?: string;
  readonly strict?: boolean;
  readonly channel?: Partial<Channel>;
}

async function send(
  kind: 'mantle' | 'runtime',
  members: object,
  { betas = '', version = '2023-06-01', strict = false, channel = {} }: SendOptions = {},
) {
  const upstream = scriptedUpstream(whole);
  const place = bedrock({ region: 'us-east-1', kind });
  const gateway = anyModelGateway({
    upstream,
    channel: { ...place, ...channel },
    model: { strict },
  });
  const body = {
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
    ...members,
  };
  const request: CallerRequest = {
    path: '/v1/messages',
    headers: { 'anthropic-version': version, ...(betas === '' ? {} : { 'anthropic-beta': betas }) },
    body: JSON.stringify(body),
  };
  const reply = await gateway.call(request);
  const [sent] = upstream.requests;
  const text = Buffer.concat(sent?.body ?? []).toString();
  const sentBody: Record<string, unknown> = text === '' ? {} : JSON.parse(text);
  return { ...reply, sent, sentBody };
}

describe.each(['mantle', 'runtime'] as const)('a request to %s', (kind) => {
  const flags = 'mcp-client-2025-11-20,interleaved-thinking-2025-05-14,files-api-2025-04-14';

  it('goes without flags that Bedrock refuses, and without their members', async () => {
    const { sent, sentBody, headers } = await send(kind, {}, { betas: flags });

    const kept = kind === 'mantle' ? sent?.headers['anthropic-beta'] : sentBody.anthropic_beta;
    expect([kept].flat()).toEqual(['interleaved-thinking-2025-05-14']);
    expect(headers['x-tollgate-dropped']).toBe(
      'anthropic-beta:mcp-client-2025-11-20,anthropic-beta:files-api-2025-04-14',
    );
  });

  it('is refused on a strict model if something would be left out', async () => {
    const { status, sent } = await send(kind, {}, { betas: flags, strict: true });

    expect(status).toBe(400);
    expect(sent).toBe(undefined);
  });

  it('takes flags from no other place than the header', async () => {
    const hidden = { anthropic_beta: ['context-1m-2025-08-07'], anthropic_version: 'x' };
    const { sentBody, headers } = await send(kind, hidden);

    expect(sentBody.anthropic_beta).toBe(undefined);
    expect(sentBody.anthropic_version).toBe(kind === 'mantle' ? undefined : 'bedrock-2023-05-31');
    expect(headers['x-tollgate-dropped']).toBe('anthropic_version,anthropic_beta');
  });

  it.each([
    ['2023-06-01', 'bedrock-2023-05-31'],
    ['2026-10-21', '2026-10-21'],
  ])('keeps the version %s of the API', async (version, inBody) => {
    const { sent, sentBody } = await send(kind, {}, { version });

    expect(sent?.headers['anthropic-version']).toBe(kind === 'mantle' ? version : undefined);
    expect(sentBody.anthropic_version).toBe(kind === 'mantle' ? undefined : inBody);
  });

  it('is refused in another version of the API, by its name', async () => {
    const { status, text, sent } = await send(kind, {}, { version: '2023-01-01' });

    expect(status).toBe(400);
    expect(text).toContain('anthropic-version');
    expect(sent).toBe(undefined);
  });

  it('keeps all other bytes of the body', async () => {
    const upstream = scriptedUpstream(whole);
    const channel = { ...bedrock({ region: 'us-east-1', kind }), upstreamModel: 'm' };
    const gateway = anyModelGateway({ upstream, channel });
    const rest =
      '"max_tokens" : 9,"x":[1.0, 12345678901234567890] ,' +
      '"messages":[{"role":"user","content":"\\u0041"}]';

    await gateway.call({ path: '/v1/messages', body: `{"model":"m",${rest}}` });

    const sent = Buffer.concat(upstream.requests[0]?.body ?? []).toString();
    expect(sent).toContain(rest);
  });

  it('drops the members of a refused flag together with it', async () => {
    const betas = 'fast-mode-2026-02-01';
    const { sentBody, headers } = await send(kind, { speed: 'standard' }, { betas });

    expect(sentBody).not.toHaveProperty('speed');
    expect(headers['x-tollgate-dropped']).toBe(`anthropic-beta:${betas},speed`);
  });
});

describe('an image by its URL', () => {
  it('is refused on runtime where the call is translated', async () => {
    const upstream = scriptedUpstream(whole);
    const channel = bedrock({ region: 'us-east-1', kind: 'runtime' });
    const gateway = anyModelGateway({ upstream, channel });
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const body = { model: 'm', messages: [{ role: 'user', content: [image] }] };

    const { status } = await gateway.call(chat(JSON.stringify(body)));

    expect([status, upstream.requests]).toEqual([400, []]);
  });
});

describe('the name of a model on runtime', () => {
  it.each(['.', '..'])('is never %s', async (upstreamModel) => {
    const { status, sent } = await send('runtime', {}, { channel: { upstreamModel } });

    expect(status).toBe(404);
    expect(sent).toBe(undefined);
  });

  it.each([
    ['a/../b', '/model/a%2F..%2Fb/invoke'],
    ['a?b#c', '/model/a%3Fb%23c/invoke'],
    ['a%2Fb', '/model/a%252Fb/invoke'],
    ['a:0', '/model/a:0/invoke'],
  ])('%s is one segment', async (upstreamModel, path) => {
    const { sent } = await send('runtime', {}, { channel: { upstreamModel } });

    expect(sent?.path).toBe(path);
  });
});

describe('the keys of an account', () => {
  const canaries = {
    accessKeyId: 'AKIACANARY0123456789',
    secretAccessKey: 'canary-secret/access+key-0123456789abcd',
    sessionToken: 'canary-session-token-0123456789/abcdefgh',
  };

  it.each([
    ['https://bedrock-runtime.us-east-1.amazonaws.com/anthropic/v1', 'bedrock'],
    ['https://vpce-0.bedrock-runtime.us-east-1.vpce.amazonaws.com/anthropic/v1', 'bedrock'],
    ['https://bedrock-runtime-fips.us-east-1.amazonaws.com/anthropic/v1', 'bedrock'],
    ['https://bedrock-mantle.us-east-1.api.aws/anthropic/v1', 'bedrock-mantle'],
    ['https://proxy.example/bedrock-runtime-of-us/v1', 'bedrock-mantle'],
  ])('sign for the service of %s', async (baseUrl, service) => {
    const upstream = scriptedUpstream(whole);
    const place = bedrock({ region: 'us-east-1', kind: 'mantle', baseUrl });
    const gateway = anyModelGateway({
      upstream,
      channel: { ...place, credential: () => canaries },
    });

    await gateway.call(messages(wholeMessage));

    const { authorization } = upstream.requests[0]?.headers ?? {};
    expect(authorization).toContain(`/us-east-1/${service}/aws4_request`);
  });

  it.each(['mantle', 'runtime', 'anthropic'] as const)('are in no text on %s', async (kind) => {
    const workspace = kind === 'anthropic' ? { workspaceId: 'wrkspc_1' } : {};
    const place = bedrock({ region: 'us-east-1', kind, ...workspace });
    for (const [name, part] of Object.entries(canaries)) {
      const error = { message: `The key ${part} of ${name} is wrong.` };
      const headers = { 'x-amzn-errortype': 'ValidationException' };
      const upstream = scriptedUpstream({ status: 400, headers, chunks: [JSON.stringify(error)] });
      const credential = () => canaries;
      const gateway = anyModelGateway({ upstream, channel: { ...place, credential } });

      const { text } = await gateway.call({
        path: '/v1/messages',
        body: '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}',
      });

      const { events, records } = gateway;
      expect(found(canaries, { text, events, records })).toEqual([]);
      expect(upstream.requests[0]?.headers['x-amz-security-token']).toBe(canaries.sessionToken);
    }
  });
});
