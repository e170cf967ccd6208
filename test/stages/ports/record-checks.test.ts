// suite: quick
/** The models that a host's catalog may return: the same as in a catalog in code, and no others. */
import { describe, expect, it } from 'vitest';
import { recordChecks } from '../../../src/stages/ports/record-checks.ts';
import { channel, model } from '../../support/models.ts';

const good = model();
const { price: _inherited, ...rest } = good;

/** An instance with an inherited member. */
class Row {
  get price(): object {
    return good.price;
  }
}

describe('a model', () => {
  it.each([
    ['as in code', good],
    ['with columns of the host’s own', { ...good, createdAt: new Date(0), channels: [] }],
    ['whose price is inherited', Object.assign(new Row(), rest)],
    ['with rate limits', { ...good, rates: { calls: { perMinute: 1 } } }],
    ['of a protocol that is not known', { ...good, protocols: ['chat', 'telegraph'] }],
    ['of a dialect that is not known', { ...good, channels: [{ ...channel(), dialect: 'morse' }] }],
    ['that there is not', undefined],
  ])('%s is accepted', (_what, found) => {
    expect(recordChecks().isModelOrMissing(found)).toBe(true);
  });

  it.each([
    ['without a price', { ...good, price: undefined }],
    ['whose price is a number', { ...good, price: 5 }],
    ['whose rates are numbers', { ...good, price: { per: 'token', rates: { input: 1 } } }],
    ['whose price is JSON', { ...good, price: { per: 'token', input: '0.15' } }],
    ['whose price has no row', { ...good, price: { per: 'image', rows: [] } }],
    ['whose factor is a number', priced({ members: { speed: { multiplier: 6 } } })],
    ['whose tier has no threshold', priced({ tiers: [{ rates: { input: 1n } }] })],
    ['whose cost is none', { ...good, channels: [{ ...channel(), cost: {} }] }],
    ['whose protocol is a number', { ...good, protocols: [5] }],
    ['without an address', { ...good, channels: [{ ...channel(), baseUrl: '' }] }],
    ['whose rate limit is misspelt', { ...good, rates: { calls: { perMin: 1 } } }],
    ['with a limit of something else', { ...good, rates: { calls: { perDay: 1 }, images: {} } }],
    ['whose rate limits are empty', { ...good, rates: {} }],
    ['that is text', 'gpt-5'],
  ])('%s is rejected', (_what, found) => {
    expect(recordChecks().isModelOrMissing(found)).toBe(false);
  });
});

describe('a key', () => {
  const quota = [{ id: 'ada', period: 'total', limitNanos: 0n }];
  const key = { id: 'ada', group: 'staff', disabled: false, quota };
  const limit = { calls: { perMinute: 1 } };

  it.each([
    ['without rate limits', undefined],
    ['with none', []],
    ['with one', [limit]],
    ['with members that are undefined', [{ ...limit, subject: undefined, tokens: undefined }]],
    ['with limits for a model', [{ subject: 'group', model: 'a/b', tokens: { perDay: 1e10 } }]],
  ])('%s is accepted', (_what, rates) => {
    expect(recordChecks().isKeyOrMissing({ ...key, rates })).toBe(true);
  });

  it.each([
    ['null', null],
    ['an object', limit],
    ['no limits', [{}]],
    ['no periods', [{ calls: {} }]],
    ['a limit of 0', [{ calls: { perMinute: 0 } }]],
    ['a limit that is text', [{ calls: { perMinute: '60' } }]],
    ['a limit above ten billion', [{ tokens: { perDay: 1e10 + 1 } }]],
    ['a misspelt limit', [limit, { callsPerMinute: 60 }]],
    ['a misspelt period', [{ calls: { perMinute: 60, perWeek: 5 } }]],
    ['a subject that is no name', [{ ...limit, subject: 'a b' }]],
    ['more than 32 entries', Array.from({ length: 33 }, () => limit)],
  ])('whose rates are %s is rejected', (_what, rates) => {
    expect(recordChecks().isKeyOrMissing({ ...key, rates })).toBe(false);
  });
});

function priced(members: object): object {
  return { ...good, price: { ...good.price, ...members } };
}
