// suite: slow
/** What hosts pass to a key store in memory by mistake is explained. */
import { expect, it } from 'vitest';
import { issueKey } from '../../../src/issue-key.ts';
import { memoryKeyStore } from '../../../src/stores/memory/key-store.ts';
import { untyped } from '../../stages/ports/failing.ts';
import { keyIdCases } from '../id-cases.ts';

keyIdCases(() => memoryKeyStore());

const issued = issueKey({ group: 'staff', limitNanos: 100n });

it.each([
  ['a list', [issued], 'memoryKeyStore: options must be an object of options'],
  ['text', 'secret', 'memoryKeyStore: options must be an object of options'],
  [
    'a key without its secret',
    { keys: [issued.key] },
    'options.keys[0].secret is missing, and must be the text',
  ],
  ['a secret alone', { keys: ['secret'] }, 'options.keys[0] must be a secret and its key'],
  ['one key', { keys: issued }, 'options.keys must be a list of { secret, key }. Give it what'],
  [
    'a key without an id',
    { keys: [{ secret: 'a', key: {} }] },
    'options.keys[0].key.id is missing, and must be',
  ],
  ['a misspelt option', { key: [issued] }, 'options.key does not exist.'],
  ['a pepper of another type', { pepper: 5 }, 'options.pepper must be text'],
])('%s', (_what, options, text) => {
  const refused = () => memoryKeyStore(untyped(options)());

  expect(refused).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
  expect(refused).toThrow(text);
});

it.each([
  ['what issueKey returned', [issued]],
  ['a key in place of a secret', [issued.key, issued.secret]],
  ['a secret alone', [issued.secret]],
])('add() of %s', (_what, args) => {
  const keys = memoryKeyStore();
  const refused = () => Reflect.apply(keys.add, keys, args);

  expect(refused).toThrow('Call add(issued.secret, issued.key).');
  // Followed, it is right.
  keys.add(issued.secret, issued.key);
  expect(keys.find(issued.secret)).toEqual(issued.key);
});
