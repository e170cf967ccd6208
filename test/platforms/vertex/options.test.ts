// suite: quick
/** What is refused of the options of `vertex()` at start-up, by code and as JSON. */
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import { placeOf, vertex } from '../../../src/platforms/places.ts';
import type { VertexPlatform } from '../../../src/ports/models/platform.ts';
import { model } from '../../support/models.ts';

type Options = Omit<VertexPlatform, 'name'>;

const project = 'acme-prod';
const kinds = ['google', 'anthropic', 'openapi'] as const;

function start(options: Options): () => unknown {
  const channels = [{ id: 'v', credential: 'token', ...vertex(options) }];
  return () => staticCatalog([model({ protocols: ['chat'], channels })]);
}

describe('a start', () => {
  it.each<Options>([
    { kind: 'google' },
    { kind: 'google', baseUrl: 'https://llm.example/v1beta1' },
    ...kinds.map((kind) => ({ kind, project })),
    ...kinds.map((kind) => ({ kind, project, location: 'europe-west4' })),
  ])('with %j is accepted', (options) => {
    expect(start(options)).not.toThrow();
  });

  it.each<readonly [Options, string]>([
    [{ kind: 'anthropic' }, 'must have a project'],
    [{ kind: 'openapi', location: 'eu' }, 'must have a project'],
    [{ kind: 'google', location: 'eu' }, 'must have a project if it has a location'],
    [{ kind: 'google', project: 'a/b' }, 'project'],
    [{ kind: 'google', project, location: 'eu/../us' }, 'location'],
    [{ kind: 'google', baseUrl: 'https://llm.example/v1/' }, 'baseUrl'],
  ])('with %j is refused: %s', (options, text) => {
    expect(start(options)).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
    expect(start(options)).toThrow(text);
    expect(start(options)).toThrow('platform');
  });
});

it.each(kinds)('the data of a platform of the kind %s gives the place of its function', (kind) => {
  const { platform, ...place } = vertex({ kind, project, location: 'eu' });
  expect(placeOf(platform)).toEqual(place);
});
