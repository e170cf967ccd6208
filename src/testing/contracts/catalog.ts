/** The contract of `Catalog`: models are found by exact names and listed by group and protocol. */
import assert from 'node:assert/strict';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { Catalog, Model } from '../../ports/models/catalog.ts';
import { isWildcard } from '../../ports/models/listed-model.ts';
import {
  type Cases,
  type Cleanable,
  type ContractCase,
  everyId,
  overSetups,
} from './contract-case.ts';

/** A catalog to test, with the models that were passed to `make`. */
export interface CatalogSetup extends Cleanable {
  /** A catalog of the models that it was made for. */
  readonly catalog: Catalog;
}

/** The cases of the catalog contract. `make` is called once per case, with the models to serve. */
export function catalogContract(
  make: (models: readonly Model[]) => MaybePromise<CatalogSetup>,
): readonly ContractCase[] {
  return overSetups(
    cases,
    () => make(models),
    ({ catalog }) => catalog,
  );
}

const chatModel: Model = {
  id: 'gpt-5',
  vendor: 'OpenAI',
  protocols: ['chat', 'native'],
  groups: ['staff', 'public'],
  price: { per: 'token', rates: { input: 1n, output: 9_007_199_254_740_991n } },
  channels: [],
  aliases: ['gpt-latest', 'vendor/gpt:5'],
};

const imageModel: Model = {
  id: 'images/draw:1.0 ü',
  vendor: 'OpenAI',
  protocols: ['images'],
  groups: ['staff'],
  price: { per: 'image', rows: [{ size: '1024x1024', nanos: 40_000_000n }] },
  channels: [],
};

const secretModel: Model = {
  id: 'constructor',
  vendor: 'Own',
  protocols: ['chat'],
  groups: [],
  price: { per: 'free' },
  channels: [],
};

/** Names that another case expects to be unknown, or that another model has. */
const otherNames = ['__proto__', 'toString', secretModel.id];
const namedModels: readonly Model[] = everyId
  .filter((id) => !otherNames.includes(id) && !isWildcard({ id }))
  .map((id) => ({ ...secretModel, id, groups: ['named'] }));

const models: readonly Model[] = [chatModel, imageModel, secretModel, ...namedModels];

const cases: Cases<Catalog> = {
  async 'a model is found by its id, with every member'(catalog) {
    for (const model of models) assert.deepEqual(await catalog.find(model.id), model);
  },
  async 'a model is found by each of its aliases, and keeps its id'(catalog) {
    for (const alias of chatModel.aliases ?? []) {
      assert.equal((await catalog.find(alias))?.id, chatModel.id);
    }
  },
  async 'a name must match exactly'(catalog) {
    const similar = ['GPT-5', 'gpt-5 ', ' gpt-5', 'gpt-', 'gpt-55', 'images/draw:1.0 u\u0308'];

    for (const name of similar) assert.equal(await catalog.find(name), undefined);
  },
  async 'a name that JavaScript objects inherit finds nothing'(catalog) {
    for (const name of ['', '__proto__', 'toString', 'hasOwnProperty', '*', '\u0000']) {
      assert.equal(await catalog.find(name), undefined);
      assert.deepEqual(await catalog.list(name, 'chat'), []);
    }
  },
  async 'a list contains each model once that the group may use with the protocol'(catalog) {
    const ids = async (...args: Parameters<Catalog['list']>): Promise<readonly string[]> =>
      (await catalog.list(...args)).map((model) => model.id);

    assert.deepEqual(await ids('staff', 'chat'), [chatModel.id]);
    assert.deepEqual(await ids('public', 'native'), [chatModel.id]);
    assert.deepEqual(await ids('staff', 'images'), [imageModel.id]);
    assert.deepEqual(await ids('public', 'images'), []);
    assert.deepEqual(await ids('nobody', 'chat'), []);
    const named = namedModels.map(({ id }) => id);
    assert.deepEqual((await ids('named', 'chat')).toSorted(), named.toSorted());
  },
  async 'a repeated list has the same order'(catalog) {
    assert.deepEqual(await catalog.list('staff', 'chat'), await catalog.list('staff', 'chat'));
  },
};
