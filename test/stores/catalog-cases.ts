/** What the history of every catalog in a table must be, whatever its processes publish at once. */
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { catalogDiff } from '../../src/catalog/catalog-diff.ts';
import type { CatalogVersion, PublishedModel } from '../../src/catalog/catalog-versions.ts';
import type { PublishedCatalog } from '../../src/catalog/published-catalog.ts';
import { member } from '../../src/json.ts';
import type { Price } from '../../src/money.ts';
import { runsOf } from '../support/sample.ts';

/** Two processes over one table of versions; the table is empty. */
export type MakeCatalogs = () => Promise<readonly [PublishedCatalog, PublishedCatalog]>;

const ids = ['gpt-5', 'o3', 'größe'] as const;
const channelIds = ['a', 'b'] as const;

function priceOf(units: number): Price {
  return { per: 'token', rates: { input: BigInt(units) * 1_000_000n, output: 1_000_000n } };
}

function modelOf(id: string, units: number, weight: number): PublishedModel {
  return {
    ...{ id, groups: ['staff'], price: priceOf(units) },
    channels: channelIds.map((channel) => ({
      ...{ id: channel, dialect: 'openai', baseUrl: 'https://api.openai.com/v1', weight },
      credential: { name: 'main' },
    })),
  };
}

const id = fc.constantFrom(...ids);
const units = fc.integer({ min: 1, max: 5 });
const weight = fc.integer({ min: 0, max: 3 });

const operation = fc.oneof(
  fc.record({ kind: fc.constant('publish' as const), id, units, weight, isBlind: fc.boolean() }),
  fc.record({ kind: fc.constant('price' as const), id, units }),
  fc.record({
    kind: fc.constant('weight' as const),
    channel: fc.constantFrom(...channelIds),
    weight,
  }),
  fc.record({ kind: fc.constant('rollback' as const), back: fc.integer({ min: 0, max: 4 }) }),
);
type Operation = typeof operation extends fc.Arbitrary<infer One> ? One : never;

/** What an operation did: a version, or why none. */
async function run(
  catalog: PublishedCatalog,
  todo: Operation,
  note: string,
): Promise<CatalogVersion | 'conflict' | 'nothing'> {
  const named = { actor: note, note };
  try {
    const newest = await catalog.read();
    const known = newest?.version ?? 0;
    switch (todo.kind) {
      case 'publish': {
        const models = [modelOf(todo.id, todo.units, todo.weight), ...others(todo.id)];
        const after = todo.isBlind ? {} : { after: known };
        return await catalog.publish(models, { ...named, ...after });
      }
      case 'price':
        return (await catalog.changePrice(todo.id, priceOf(todo.units), named)) ?? 'nothing';
      case 'rollback':
        return (await catalog.rollback(Math.max(1, known - todo.back), named)) ?? 'nothing';
      case 'weight': {
        const change = { weight: todo.weight };
        const changed = await catalog.changeChannel(todo.channel, change, named);
        const found = (await catalog.history()).find((one) => one.note === note);
        expect(changed.length > 0).toBe(found !== undefined);
        return found ?? 'nothing';
      }
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'CatalogConflict') return 'conflict';
    throw error;
  }
}

function others(except: string): readonly PublishedModel[] {
  return ids.filter((one) => one !== except).map((one) => modelOf(one, 1, 1));
}

/** Runs the cases of two processes. */
export function catalogHistoryCases(make: MakeCatalogs): void {
  it('two processes publish, edit and go back at once, and the history is one line', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.tuple(operation, operation), { minLength: 1, maxLength: 6 }),
      async (rounds) => {
        const pair = await make();
        const results: (CatalogVersion | string)[] = [];
        for (const [round, both] of rounds.entries()) {
          const steps = both.map((todo, process) => {
            const catalog = pair[process === 0 ? 0 : 1];
            return run(catalog, todo, `${round} of ${process}`);
          });
          results.push(...(await Promise.all(steps)));
        }
        await checkHistory(pair, results);
        for (const catalog of pair) catalog.close();
      },
    );
    await fc.assert(property, { numRuns: runsOf(60) });
  });

  it('says who published what, and refuses a version that follows an older one', async () => {
    const [here, there] = await make();
    onTestFinished(here.close);
    onTestFinished(there.close);
    await here.publish([modelOf('gpt-5', 1, 1)], { actor: 'ada', note: 'first' });
    await there.changePrice('gpt-5', priceOf(2), { actor: 'bob' });

    const late = here.publish([modelOf('gpt-5', 9, 1)], { actor: 'ada', after: 1 });
    await expect(late).rejects.toThrow('Version 2 was published in the meantime');
    const back = await there.rollback(1, { actor: 'eve' });

    expect(back).toMatchObject({ version: 3, note: 'rollback to version 1' });
    expect(await here.history()).toMatchObject([
      { version: 3, actor: 'eve', changes: [{ before: '0.002', after: '0.001' }] },
      {
        ...{ version: 2, actor: 'bob', note: undefined },
        changes: [{ modelId: 'gpt-5', member: 'price.input', before: '0.001', after: '0.002' }],
      },
      { version: 1, actor: 'ada', note: 'first', changes: [{ member: '', before: undefined }] },
    ]);
    expect(await here.rollback(99)).toBeUndefined();
    expect(await here.read(99)).toBeUndefined();
  });
}

/** Every version is readable and follows the one before it, and every success is one version. */
async function checkHistory(
  pair: readonly [PublishedCatalog, PublishedCatalog],
  results: readonly (CatalogVersion | string)[],
): Promise<void> {
  const history = await pair[1].history();
  // It serves its own version at once, and the other process after its next poll.
  const catalog = pair[history[0]?.note?.endsWith('0') === true ? 0 : 1];
  const published = results.filter((result) => typeof result !== 'string');

  expect(history.map(({ version }) => version)).toEqual(
    history.map((_, at) => history.length - at),
  );
  expect(new Set(history.map(({ note }) => note))).toEqual(
    new Set(published.map(({ note }) => note)),
  );
  expect(history).toHaveLength(published.length);
  for (const { version, changes } of history) {
    const [before, after] = [await catalog.read(version - 1), await catalog.read(version)];
    expect(changes).toEqual(catalogDiff(before?.models ?? [], after?.models ?? []));
  }
  const newest = await catalog.read();
  const served = catalog.models().map((model) => model.id);
  expect(served).toEqual(newest?.models.map((model) => member(model, 'id')));
}
