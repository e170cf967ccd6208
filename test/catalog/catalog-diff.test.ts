// suite: quick
/** The differences of two lists of models name every member that differs, and show no secret. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { catalogDiff } from '../../src/catalog/catalog-diff.ts';
import { isJsonObject, items, type JsonValue, member } from '../../src/json.ts';

const secret = 'sk-in-a-header';
const rate = fc.constantFrom('0.15', '2', '10');

const channel = fc.record({
  id: fc.constantFrom('a', 'b', 'a.b'),
  weight: fc.nat(2),
  baseUrl: fc.constantFrom('https://one.example/v1', `https://two.example/v1/${secret}`),
  headers: fc.constantFrom({ 'x-key': secret }, { 'x-key': `${secret}2` }, {}),
});

const model = fc.record({
  id: fc.constantFrom('gpt', 'o3', 'constructor', 'a.b'),
  groups: fc.subarray(['staff', 'all']),
  price: fc.record({ per: fc.constant('token'), input: rate, output: rate }),
  channels: fc.uniqueArray(channel, { selector: ({ id }) => id, maxLength: 3 }),
});

const list = fc.uniqueArray(model, { selector: ({ id }) => id, maxLength: 4 });

/** The values at the paths that can differ, by model. */
function valuesOf(models: readonly JsonValue[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const one of models) {
    const id = String(member(one, 'id'));
    found.set(`${id}|`, '');
    if (!isJsonObject(one)) continue;
    found.set(`${id}|groups`, JSON.stringify(one.groups));
    for (const name of ['input', 'output']) {
      found.set(`${id}|price|${name}`, String(member(one.price, name)));
    }
    for (const each of items(one.channels)) {
      const path = `${id}|channels|${member(each, 'id')}`;
      found.set(path, '');
      for (const name of ['weight', 'baseUrl', 'headers']) {
        found.set(`${path}|${name}`, JSON.stringify(member(each, name)));
      }
    }
  }
  return found;
}

/** The paths that differ; those of what is missing as a whole are covered by it. */
function expectedPaths(before: readonly JsonValue[], after: readonly JsonValue[]) {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  const paths = [...new Set([...old.keys(), ...now.keys()])].filter(
    (path) => old.get(path) !== now.get(path),
  );
  const isCovered = (path: string): boolean =>
    paths.some((other) => {
      const isAbove = path !== other && path.startsWith(other.endsWith('|') ? other : `${other}|`);
      return isAbove && old.has(other) !== now.has(other);
    });
  return new Set(
    paths
      .filter((path) => !isCovered(path))
      .map((path) => {
        const [id, ...names] = path.split('|');
        return `${id}|${names.join('.')}`;
      }),
  );
}

it('name each member that differs, and nothing else', () => {
  fc.assert(
    fc.property(list, list, (before, after) => {
      const found = catalogDiff(before, after).filter(({ member: name }) => name !== 'order');
      const paths = found.map(({ modelId, member: name }) => `${modelId}|${name}`);

      expect(new Set(paths)).toEqual(expectedPaths(before, after));
      expect(paths).toHaveLength(new Set(paths).size);
    }),
  );
});

it('show no header and no path of a URL', () => {
  fc.assert(
    fc.property(list, list, (before, after) => {
      expect(JSON.stringify(catalogDiff(before, after))).not.toContain(secret);
    }),
  );
});

it('are none exactly between equal lists', () => {
  fc.assert(
    fc.property(list, list, (before, after) => {
      expect(catalogDiff(before, before)).toEqual([]);
      const isEqual = JSON.stringify(before) === JSON.stringify(after);
      expect(catalogDiff(before, after).length === 0).toBe(isEqual);
    }),
  );
});
