// suite: slow
/** Wildcards of every catalog: which ids they serve, with which price, and what they refuse. */
import { describe, expect, it } from 'vitest';
import type { CatalogTable, CatalogVersion } from '../../src/catalog/catalog-versions.ts';
import { publishedCatalog } from '../../src/catalog/published-catalog.ts';
import type { PublishedModel } from '../../src/catalog/published-models.ts';
import { type StaticCatalog, staticCatalog } from '../../src/catalog/static-catalog.ts';
import { ConfigurationError } from '../../src/errors.ts';
import type { Price } from '../../src/money.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import type { ListedModel } from '../../src/ports/models/listed-model.ts';
import { tokenPrice } from '../../src/prices/codec.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { type Draw, drawn } from '../support/seeds.ts';
import { catalogFile } from './catalog-file.ts';

const channel = {
  id: 'openai-1',
  dialect: 'openai',
  baseUrl: 'https://api.openai.com/v1',
} as const;

/** What a list has of a model, in whatever form it is written. */
interface Entry {
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly allow?: NonNullable<Model['allow']>;
  readonly fallbacks?: readonly string[];
  /** The provider in the list of prices; undefined for a free model. */
  readonly from?: string;
  readonly upstreamModels?: readonly (string | undefined)[];
}

/** A name costs what it says, and one with an x has no price. */
function priceOf(provider: string, name: string): Price | undefined {
  if (name.includes('xx')) throw new ConfigurationError('no price');
  if (name.includes('x')) return undefined;
  return tokenPrice({ input: String(provider.length), output: String(name.length) });
}

function channelsOf(entry: Entry): readonly Omit<Channel, 'credential'>[] {
  const { upstreamModels = [undefined] } = entry;
  return upstreamModels.map((upstreamModel, index) => ({
    ...channel,
    id: `openai-${index}`,
    ...(upstreamModel === undefined ? {} : { upstreamModel }),
  }));
}

function membersOf({ from: _from, upstreamModels: _models, ...rest }: Entry) {
  return { groups: ['staff'], protocols: ['chat'] as const, sameVectors: true, ...rest };
}

function inCode(entries: readonly Entry[]): readonly ListedModel[] {
  return entries.map((entry) => {
    const { from } = entry;
    return {
      ...membersOf(entry),
      price: from === undefined ? { per: 'free' } : (name) => priceOf(from, name),
      channels: channelsOf(entry).map((one) => ({ ...one, credential: 'secret' })),
    };
  });
}

function published(entries: readonly Entry[]): readonly PublishedModel[] {
  return entries.map((entry) => ({
    ...membersOf(entry),
    price: entry.from === undefined ? { per: 'free' } : { from: entry.from },
    channels: channelsOf(entry).map((one) => ({ ...one, credential: { name: 'secret' } })),
  }));
}

const options = { prices: priceOf, credentials: () => 'secret', clock: fakeClock() };

async function inFile(entries: readonly Entry[]): Promise<StaticCatalog> {
  const { write, open } = await catalogFile();
  await write({ models: published(entries) });
  return open(options);
}

async function inTable(entries: readonly Entry[]): Promise<StaticCatalog> {
  const versions: string[] = [];
  const table: CatalogTable = {
    version: () => BigInt(versions.length),
    read: () => ({ version: BigInt(versions.length), models: versions.at(-1) ?? '[]' }),
    add: ({ models }) => versions.push(models) > 0,
    history: () => [entryOf(versions.length)],
  };
  const catalog = await publishedCatalog('tableCatalog', table, options);
  await catalog.publish(published(entries));
  return catalog;
}

function entryOf(version: number): CatalogVersion {
  const unknown = { actor: undefined, note: undefined, changes: undefined };
  return { version, atMs: 0, ...unknown, moreChanges: 0 };
}

type Make = (entries: readonly Entry[]) => StaticCatalog | Promise<StaticCatalog>;

const catalogs: Readonly<Record<string, Make>> = {
  code: (entries) => staticCatalog(inCode(entries)),
  'a file': inFile,
  'a table': inTable,
};

const wildcards = ['*', 'a/*', 'a/b/*', 'a/b*', 'ab*', 'gpt-*', 'ä/*'];
const exactIds = ['a/c', 'a/b/c', 'gpt-5', 'c', 'ft:c'];
const segments = [
  ...[
    'a',
    'b',
    'c',
    'gpt-5',
    'A.b_c:d-e',
    'x',
    'ax',
    'xx',
    '.',
    '..',
    '...',
    '',
    'ft:c',
    'FT:d',
    'tunedModels',
  ],
  ...['é', 'a b', '%2F', '*', 'a\n', 'n'.repeat(128), 'n'.repeat(129), 'ä', '?', '\\', '@'],
];

function entriesFor(draw: Draw): readonly Entry[] {
  const some = (ids: readonly string[]) => ids.filter(() => draw(2) === 0);
  const allow: readonly Model['allow'][] = [
    undefined,
    { fine_tuned: true },
    { fine_tuned: { models: ['ft:c', 'b/ft:c'] } },
  ];
  return [
    ...some(exactIds).map((id) => ({ id, aliases: [`alias-${id}`] })),
    ...some(wildcards).map((id): Entry => {
      const allowed = allow[draw(3)];
      return {
        id,
        ...(draw(4) === 0 ? {} : { from: id.slice(0, -1) || 'any' }),
        ...(allowed === undefined ? {} : { allow: allowed }),
        upstreamModels: [undefined, 'other/*', '*-eu'].slice(0, 1 + draw(3)),
      };
    }),
  ];
}

function idFor(draw: Draw): string {
  const pick = (values: readonly string[]): string => values[draw(values.length)] ?? '';
  const name = Array.from({ length: 1 + draw(5) }, () => pick(segments)).join('/');
  const start = pick(['', 'a/', 'a/b/', 'a/b', 'ab', 'gpt-', 'ä/', 'alias-']);
  return draw(8) === 0 ? pick([...exactIds, ...wildcards]) : start + name;
}

/** The rules of docs/catalog.md, in other words. */
function expected(id: string, entries: readonly Entry[]): object | undefined {
  const isNamed = ({ id: own, aliases }: Entry) => own === id || aliases?.includes(id) === true;
  const exact = entries.find((entry) => !entry.id.endsWith('*') && isNamed(entry));
  if (exact !== undefined) return { id: exact.id, exactId: undefined };
  const fixed = (entry: Entry): string => entry.id.replace('*', '');
  const [best] = entries
    .filter((entry) => entry.id.endsWith('*') && id.startsWith(fixed(entry)))
    .sort((one, other) => other.id.length - one.id.length);
  if (best === undefined) return undefined;
  const name = id.slice(fixed(best).length);
  const parts = name.split('/');
  const legal = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-';
  const isLegal = (part: string): boolean =>
    part.length >= 1 && part.length <= 128 && [...part].every((one) => legal.includes(one));
  if (parts.length > 4 || !parts.every(isLegal)) return undefined;
  if (parts.some((part) => part === '.' || part === '..')) return undefined;
  const isTuned = (part: string, index: number): boolean =>
    part.toLowerCase().startsWith('ft:') ||
    (part.toLowerCase() === 'tunedmodels' && index < parts.length - 1);
  if (parts.some(isTuned)) {
    const allowed = best.allow?.fine_tuned;
    if (allowed === undefined) return undefined;
    if (allowed !== true && !allowed.models.includes(name)) return undefined;
  }
  if (best.from !== undefined && name.includes('x')) return undefined;
  const price = best.from === undefined ? { per: 'free' } : priceOf(best.from, name);
  const upstreamModels = (best.upstreamModels ?? []).map((one = '*') => one.replace('*', name));
  return { id: best.id, exactId: id, price, upstreamModels };
}

function found(model: Model | undefined): object | undefined {
  if (model === undefined) return undefined;
  const { id, exactId, price, channels } = model;
  if (exactId === undefined) return { id, exactId };
  return { id, exactId, price, upstreamModels: channels.map((one) => one.upstreamModel) };
}

describe.each(Object.entries(catalogs))('a catalog in %s', (_name, make) => {
  it('finds what its ids, aliases and wildcards serve, and nothing else', async () => {
    const seen = { wildcard: 0, exact: 0, none: 0 };
    for (let sequence = 0; sequence < 40; sequence += 1) {
      const draw = drawn(sequence);
      const entries = entriesFor(draw);
      const catalog = await make(entries);
      for (let count = 0; count < 200; count += 1) {
        const id = idFor(draw);
        const model = catalog.find(id);
        expect([id, found(model)]).toEqual([id, expected(id, entries)]);
        expect(catalog.find(id)).toBe(model);
        const kind = model?.exactId === undefined ? 'exact' : 'wildcard';
        seen[model === undefined ? 'none' : kind] += 1;
      }
    }
    // The generator reaches every kind of answer.
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(200);
  });

  it('lists models, and wildcards to operators only', async () => {
    const entries = [{ id: 'a/c' }, { id: 'a/*', from: 'a' }, { id: 'c' }];
    const catalog = await make(entries);

    catalog.find('a/d');

    expect(catalog.list('staff', 'chat').map(({ id }) => id)).toEqual(['a/c', 'c']);
    expect(catalog.models().map(({ id }) => id)).toEqual(['a/c', 'a/*', 'c']);
  });

  it('keeps the models of the last thousand ids', async () => {
    const catalog = await make([{ id: '*', from: 'any' }]);
    const ids = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
    const models = ids.map(catalog.find);

    expect(
      ids
        .toReversed()
        .map(catalog.find)
        .every((one, at) => one === models.at(-1 - at)),
    ).toBe(true);
    catalog.find('another');

    expect(catalog.find('n998')).toBe(models[998]);
    expect(catalog.find('n999')).not.toBe(models[999]);
    expect(catalog.find('n999')).toEqual(models[999]);
  });

  it.each<readonly [string, readonly Entry[], string]>([
    ['an alias of a wildcard', [{ id: 'a*', aliases: ['b'] }], 'a wildcard has no aliases'],
    ['an alias that is one', [{ id: 'a', aliases: ['b*'] }], 'a wildcard has no aliases'],
    ['one twice', [{ id: 'a*' }, { id: 'a*' }], 'is taken'],
    ['the same upstream model for all names', [{ id: 'a*', upstreamModels: ['b'] }], 'one * for'],
    ['two * in it', [{ id: 'a*', upstreamModels: ['**'] }], 'must have one * for the name'],
    ['prices by name of a model', [{ id: 'a', from: 'b' }], "must be an object per 'token'"],
    ['a wildcard as a fallback', [{ id: 'a', fallbacks: ['b*'] }, { id: 'b*' }], 'not the id'],
    ['one that it does not serve', [{ id: 'a', fallbacks: ['b '] }, { id: 'b*' }], 'not the id'],
    ['itself as its fallback', [{ id: 'a*', fallbacks: ['ab'] }], 'not the id of another'],
    [
      'a fallback with a price',
      [
        { id: 'a', fallbacks: ['bc'] },
        { id: 'b*', from: 'b' },
      ],
      'free',
    ],
  ])('refuses %s', async (_case, entries, message) => {
    await expect((async () => make(entries))()).rejects.toThrow(message);
  });

  it('accepts a model of a wildcard as a fallback', async () => {
    const catalog = await make([{ id: 'a', fallbacks: ['b/c', 'c'] }, { id: 'b/*' }, { id: 'c' }]);

    expect(catalog.find('a')?.fallbacks).toEqual(['b/c', 'c']);
  });
});

describe('a price by name', () => {
  const one = (price: ListedModel['price']): StaticCatalog =>
    staticCatalog([{ ...membersOf({ id: '*' }), price, channels: [] }]);

  it('throws to the host what is not about the name', () => {
    const catalog = one(() => {
      throw new TypeError('a mistake of the host');
    });

    expect(() => catalog.find('gpt-5')).toThrow('a mistake of the host');
  });

  it('of JSON needs a list of prices, and a provider in it', async () => {
    const { write, open } = await catalogFile();
    const [model] = published([{ id: '*', from: 'openai' }]);
    await write({ models: [model] });
    await expect(open({ credentials: () => 'secret' })).rejects.toThrow(
      'models[0].price.from needs a list of prices. In code, give options.prices',
    );

    for (const from of ['', 5, null]) {
      await write({ models: [{ ...model, price: { from } }] });
      await expect(open(options)).rejects.toThrow('models[0].price.from must be the provider');
    }
  });
});
