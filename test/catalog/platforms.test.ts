// suite: quick
/** The platform of a channel, as a catalog checks it and people see it. */
import { describe, expect, it } from 'vitest';
import { modelsFrom } from '../../src/catalog/model-json.ts';
import { azure, bedrock, staticCatalog, vertex } from '../../src/index.ts';
import { type JsonValue, parseJson } from '../../src/json.ts';
import { platformText } from '../../src/ports/models/platform.ts';
import type { Platform } from '../../src/ports.ts';
import { readText } from '../house/sources.ts';
import { channel, model } from '../support/models.ts';

const hosted = [
  azure({ kind: 'v1', resource: 'contoso' }),
  azure({ kind: 'anthropic', resource: 'contoso' }),
  azure({ kind: 'v1', resource: 'fabrikam' }),
  vertex({ kind: 'google', project: 'p', location: 'europe-west1' }),
  vertex({ kind: 'google', project: 'p', location: 'us-east1' }),
  bedrock({ kind: 'mantle', region: 'us-east-1' }),
  bedrock({ kind: 'mantle', region: 'eu-west-1' }),
];

describe('a channel id under two models', () => {
  it.each(hosted)('is one account where both have the same platform: $platform', (place) => {
    const again = { ...place, platform: { ...place.platform } };

    expect(() => staticCatalog(models(place, again))).not.toThrow();
  });

  it.each(hosted)('is refused with any other: $platform', (place) => {
    for (const other of hosted) {
      if (other === place) continue;
      const differing = other.dialect === place.dialect ? 'baseUrl|platform' : 'dialect';
      expect(() => staticCatalog(models(place, other))).toThrow(
        new RegExp(`channel "one" has another (?:${differing}) than under another model`),
      );
    }
  });
});

function models(...places: readonly (typeof hosted)[number][]) {
  return places.map((place, index) =>
    model({ id: `m${index}`, channels: [channel({ ...place, id: 'one' })] }),
  );
}

it.each<[Platform, string]>([
  [{ name: 'azure', kind: 'v1', resource: 'contoso' }, 'azure contoso'],
  [{ name: 'azure', kind: 'v1', baseUrl: 'https://ai.contoso.com' }, 'azure ai.contoso.com'],
  [{ name: 'vertex', kind: 'google', project: 'p' }, 'vertex global'],
  [{ name: 'vertex', kind: 'anthropic', location: 'europe-west1' }, 'vertex europe-west1'],
  [{ name: 'bedrock', kind: 'runtime', region: 'us-east-1' }, 'bedrock us-east-1'],
])('people see %j as %s', (platform, text) => {
  expect(platformText(platform)).toBe(text);
});

it.each<[string, readonly string[]]>([
  [
    'azure',
    ['https://contoso-eu.openai.azure.com/openai/v1', 'https://contoso.openai.azure.com/openai'],
  ],
  ['bedrock', ['https://bedrock-runtime.eu-central-1.amazonaws.com']],
  ['vertex', ['https://aiplatform.googleapis.com/v1/projects/acme-prod/locations/global']],
])('the page of %s has channels to paste into a catalog file', async (name, baseUrls) => {
  const page = readText(`docs/platforms/${name}.md`);
  const [, json = ''] = /^```json\n(.*?)^```$/ms.exec(page) ?? [];
  const channels = [parseJson(json) ?? []].flat();
  const list: JsonValue = [{ id: 'm', groups: ['staff'], price: { per: 'free' }, channels }];

  const [read] = await modelsFrom(list, { credential: async () => 'secret', prices: undefined });

  expect(read?.channels.map(({ baseUrl }) => baseUrl)).toEqual(baseUrls);
});
