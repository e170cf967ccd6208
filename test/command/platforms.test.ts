// suite: slow host
/** Channels on platforms, as data: what the program tries of them, and how it lists them. */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/json.ts';
import type { FakeUpstream } from '../../src/testing/index.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { commandFolder, sqliteConfig } from './called.ts';

interface Place {
  readonly upstreamModel: string;
  /** As the program names it. */
  readonly text: RegExp;
  platform(upstream: FakeUpstream): JsonObject;
}

const vertex = { name: 'vertex', project: 'acme', location: 'us-east5' };
const bedrock = { name: 'bedrock', region: 'eu-central-1' };

const places: Readonly<Record<string, Place>> = {
  'azure-v1': {
    upstreamModel: 'gpt-4o-mini',
    text: /azure 127\.0\.0\.1:\d+/,
    platform: ({ origin }) => ({ name: 'azure', kind: 'v1', baseUrl: origin }),
  },
  'azure-old': {
    upstreamModel: 'gpt-4o-mini',
    text: /azure 127\.0\.0\.1:\d+/,
    platform: ({ origin: baseUrl }) => ({
      ...{ name: 'azure', kind: 'deployments', apiVersion: '2024-10-21', baseUrl },
    }),
  },
  foundry: {
    upstreamModel: 'claude-haiku-5',
    text: /azure 127\.0\.0\.1:\d+/,
    platform: ({ origin }) => ({ name: 'azure', kind: 'anthropic', baseUrl: origin }),
  },
  gemini: {
    upstreamModel: 'gemini-3-flash',
    text: /vertex us-east5/,
    platform: ({ vertexBaseUrl: baseUrl }) => ({ ...vertex, kind: 'google', baseUrl }),
  },
  claude: {
    upstreamModel: 'claude-haiku-5',
    text: /vertex us-east5/,
    platform: ({ vertexBaseUrl: baseUrl }) => ({ ...vertex, kind: 'anthropic', baseUrl }),
  },
  mantle: {
    upstreamModel: 'claude-haiku-5',
    text: /bedrock eu-central-1/,
    platform: ({ bedrockBaseUrls: { mantle: baseUrl } }) => ({
      ...{ ...bedrock, kind: 'mantle', baseUrl },
    }),
  },
  runtime: {
    upstreamModel: 'claude-haiku-5',
    text: /bedrock eu-central-1/,
    platform: ({ bedrockBaseUrls: { runtime: baseUrl } }) => ({
      ...{ ...bedrock, kind: 'runtime', baseUrl },
    }),
  },
};

it('each is tried with a call, and listed with its platform and region', async () => {
  const upstream = await startStrictUpstream();
  const { call, write } = commandFolder();
  const models = Object.entries(places).map(([id, { upstreamModel, platform }]) => ({
    ...{ id: `model-${id}`, groups: ['staff'], protocols: ['chat'], maxOutputTokens: 1_000 },
    price: { per: 'token', input: '0.15', output: '0.60' },
    channels: [{ id, upstreamModel, platform: platform(upstream), credential: `\${KEY}` }],
  }));
  write({ ...sqliteConfig(), catalog: { models } });
  await call('migrate');

  const checked = await call('check', '--spend');
  const listed = await call('channels');
  await upstream.close();

  for (const [id, { text }] of Object.entries(places)) {
    expect(checked.out).toMatch(
      new RegExp(`^warning +channel ${id}: is on ${text.source}, where no request is free`, 'm'),
    );
    expect(checked.out).toMatch(new RegExp(`^ok +call of model-${id} through ${id}: `, 'm'));
    expect(listed.out).toMatch(new RegExp(`^.*\\b${id}\\b.*${text.source}`, 'm'));
  }
  expect(checked.code).toBe(0);
});
