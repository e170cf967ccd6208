// suite: quick
/** Credentials that a catalog file leaves to the library of a cloud. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { credentialReader } from '../../src/catalog/credentials.ts';
import { modelsFrom } from '../../src/catalog/model-json.ts';
import { systemClock } from '../../src/clock.ts';
import { type JsonValue, member } from '../../src/json.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import { untyped } from '../stages/ports/failing.ts';

/** Small packages with the exports that are used. */
const packages: Readonly<Record<string, string>> = {
  '@aws-sdk/credential-providers': `
    exports.fromNodeProviderChain = ({ profile = 'none' }) => async () => ({
      accessKeyId: profile, secretAccessKey: 'aws-secret', sessionToken: 'aws-token',
    });`,
  'google-auth-library': `
    exports.GoogleAuth = class {
      constructor({ scopes }) { this.scopes = scopes; }
      async getAccessToken() { return 'ya29.' + this.scopes; }
    };`,
  '@azure/identity': `
    exports.DefaultAzureCredential = class {
      async getToken(scope) { return { token: 'ey.' + scope, expiresOnTimestamp: 1 }; }
    };`,
};

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'clouds-'));
  for (const [name, text] of Object.entries(packages)) {
    const file = join(folder, 'node_modules', name, 'index.js');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
});

afterEach(() => vi.restoreAllMocks());
afterAll(() => rmSync(folder, { recursive: true }));

const platforms: Readonly<Record<string, JsonValue>> = {
  aws: { name: 'bedrock', kind: 'runtime', region: 'us-east-1' },
  google: { name: 'vertex', kind: 'google', project: 'p', location: 'us-east5' },
  azure: { name: 'azure', kind: 'v1', resource: 'contoso' },
};

/** The platform that a reference is for. */
function placeFor(reference: JsonValue): { readonly platform: JsonValue } | undefined {
  const cloud = Object.keys(platforms).find((name) => member(reference, name) !== undefined);
  const platform = platforms[cloud ?? ''];
  return platform === undefined ? undefined : { platform };
}

function readModels(...credentials: readonly JsonValue[]) {
  const sources = { credentials: undefined, allowSecretsInFile: false, clock: systemClock() };
  const channels = credentials.map((credential, index) => ({
    id: `c${index}`,
    ...(placeFor(credential) ?? { dialect: 'openai', baseUrl: 'https://llm.example/v1' }),
    credential,
  }));
  const price = { per: 'token', input: '1', output: '1' };
  const list: JsonValue = [{ id: 'gpt', groups: ['staff'], price, channels }];
  return modelsFrom(list, { credential: credentialReader(sources), prices: undefined });
}

/** The functions look at none of the call. */
async function answerOf(credential: Channel['credential'] | undefined): Promise<unknown> {
  return typeof credential === 'function' ? credential(untyped({})()) : credential;
}

async function credentialsOf(...references: readonly JsonValue[]) {
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
  const [model] = await readModels(...references);
  return (model?.channels ?? []).map(({ credential }) => credential);
}

describe('a reference to a cloud', () => {
  it.each([
    [
      { aws: {} },
      { accessKeyId: 'none', secretAccessKey: 'aws-secret', sessionToken: 'aws-token' },
    ],
    [{ aws: { profile: 'eu' } }, { accessKeyId: 'eu' }],
    [{ google: 'default' }, { token: 'ya29.https://www.googleapis.com/auth/cloud-platform' }],
    [
      { azure: 'default' },
      { token: 'ey.https://cognitiveservices.azure.com/.default', expiresOnTimestamp: 1 },
    ],
    [{ azure: { scope: 'api://ours/.default' } }, { token: 'ey.api://ours/.default' }],
  ])('%j becomes a function', async (reference, answer) => {
    const [credential] = await credentialsOf(reference);

    expect(await answerOf(credential)).toMatchObject(answer);
  });

  it('is one account for all channels that have it', async () => {
    const [one, other, third] = await credentialsOf(
      { aws: {} },
      { aws: {} },
      { aws: { profile: 'a' } },
    );

    expect(one).toBe(other);
    expect(third).not.toBe(one);
  });

  it.each([
    { aws: 'default' },
    { aws: { profile: 1 } },
    { aws: { region: 'eu' } },
    { aws: {}, google: 'default' },
    { google: {} },
    { azure: 'managed' },
    { azure: { scope: 1 } },
    { azure: { profile: 'eu' } },
    { oracle: 'default' },
    {},
  ])('in another form is refused: %j', async (reference) => {
    await expect(credentialsOf(reference)).rejects.toThrow(
      /credential must be .*\{ "aws": \{\} \}/,
    );
  });

  it.each([
    ['aws', {}, '@aws-sdk/credential-providers'],
    ['azure', 'default', '@azure/identity'],
  ])('names the package that is missing: %s', async (cloud, options, name) => {
    vi.spyOn(process, 'cwd').mockReturnValue(tmpdir());

    await expect(readModels({ [cloud]: options })).rejects.toThrow(
      `models[0].channels[0].credential needs the package ${name}. Run: npm install ${name}.`,
    );
  });
});

it.each([
  [{ aws: {} }, 'bedrock'],
  [{ google: 'default' }, 'vertex'],
  [{ azure: 'default' }, 'azure'],
])('%j is refused for any other host, which would get its tokens', async (credential, name) => {
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
  const sources = { credentials: undefined, allowSecretsInFile: false, clock: systemClock() };
  const price = { per: 'token', input: '1', output: '1' };
  const own = { dialect: 'openai', baseUrl: 'https://third.example/v1' };
  const others = Object.values(platforms).filter((one) => member(one, 'name') !== name);
  for (const place of [own, ...others.map((platform) => ({ platform }))]) {
    const channels = [{ id: 'c', credential, ...place }];
    const list: JsonValue = [{ id: 'gpt', groups: ['staff'], price, channels }];
    await expect(
      modelsFrom(list, { credential: credentialReader(sources), prices: undefined }),
    ).rejects.toThrow(`is for channels on the platform ${name}; another host`);
  }
});

it('a channel on a platform needs neither dialect nor baseUrl in a file', async () => {
  const sources = { credentials: undefined, allowSecretsInFile: true, clock: systemClock() };
  const platform = { name: 'azure', kind: 'v1', resource: 'contoso' };
  const price = { per: 'token', input: '1', output: '1' };
  const channels = [{ id: 'eu', credential: 'key', platform }];
  const list: JsonValue = [{ id: 'gpt', groups: ['staff'], price, channels }];

  const [model] = await modelsFrom(list, {
    credential: credentialReader(sources),
    prices: undefined,
  });

  expect(model?.channels).toMatchObject([
    { dialect: 'openai', baseUrl: 'https://contoso.openai.azure.com/openai/v1', platform },
  ]);
});
