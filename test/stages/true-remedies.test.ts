/**
 * Every member of a record, an option or a model, with every kind of wrong value: the text names the
 * member, and what it advises works. The members and their legal values are listed here by hand.
 */
import { describe, expect, it } from 'vitest';
import { issueKey } from '../../src/issue-key.ts';
import { maxNanos } from '../../src/money.ts';
import { settingsOf } from '../../src/options.ts';
import type { Channel, Model } from '../../src/ports/catalog.ts';
import type { ApiKey } from '../../src/ports/key-store.ts';
import { recordChecks } from '../../src/stages/record-checks.ts';
import { staticCatalog } from '../../src/stores/memory/catalog.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { untyped } from './failing.ts';

/** A member, by its path in a valid value, and a legal value of it. */
type Member = readonly [path: string, legal: unknown];

const wrongValues: readonly unknown[] = [
  null,
  '',
  ' ',
  'a\nb',
  '60',
  0,
  1.5,
  -1,
  Number.NaN,
  100,
  100n,
  -1n,
  maxNanos + 1n,
  true,
  [],
  [[]],
  [null],
  ['a', 5],
  {},
  { wrong: 1 },
  new Date(0),
  Symbol('a'),
  () => undefined,
];

const subject = { id: 'ada', period: 'total', limitNanos: 100n };

const keyRecord = {
  id: 'ada',
  group: 'staff',
  disabled: false,
  expiresAtMs: 4_000_000_000_000,
  quota: [{ ...subject, maxConcurrentCalls: 2, visible: true }],
  quotaPartition: 'eu',
  maxConcurrentCalls: 5,
  rates: [
    {
      calls: { perMinute: 1, perHour: 2, perDay: 3 },
      tokens: { perDay: 3 },
      subject: 'team',
      model: 'gpt-5',
      visible: true,
    },
  ],
  responseOwner: 'ada',
};

const keyMembers: readonly Member[] = [
  ['id', 'ada'],
  ['group', 'staff'],
  ['disabled', false],
  ['expiresAtMs', 4_000_000_000_000],
  ['quota', [subject]],
  ['quota.0', subject],
  ['quota.0.id', 'ada'],
  ['quota.0.period', 'month'],
  ['quota.0.limitNanos', 100n],
  ['quota.0.maxConcurrentCalls', 2],
  ['quota.0.visible', true],
  ['quotaPartition', 'eu'],
  ['maxConcurrentCalls', 5],
  ['rates', []],
  ['rates.0', { calls: { perMinute: 60 } }],
  ['rates.0.calls', { perMinute: 60 }],
  ['rates.0.calls.perMinute', 60],
  ['rates.0.calls.perHour', 60],
  ['rates.0.calls.perDay', 60],
  ['rates.0.tokens', { perDay: 1_000_000 }],
  ['rates.0.subject', 'team'],
  ['rates.0.model', 'gpt-5'],
  ['rates.0.visible', true],
  ['responseOwner', 'ada'],
];

const channel = {
  id: 'openai-1',
  dialect: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  credential: 'sk-one',
  account: 'one',
  upstreamModel: 'gpt',
  priority: 1,
  weight: 1,
  maxPriceNanos: 100n,
  cost: { per: 'free' },
  groups: ['staff'],
  maxConcurrentCalls: 5,
  stickyBy: 'key',
  rejectsBeforeWork: true,
  headers: { weight: 'x', priority: 'y', 'x-one': 'z' },
  usageTrust: 'held',
  hideErrors: true,
  timeouts: { idleMs: 5_000 },
};

const model = {
  id: 'gpt-5',
  vendor: 'OpenAI',
  protocols: ['chat'],
  groups: ['staff'],
  price: { per: 'token', rates: { input: 100n, output: 100n } },
  channels: [channel],
  aliases: ['gpt'],
  fallbacks: [],
  maxOutputTokens: 100,
  contextTokens: 1_000,
  tokensPerByte: 0.5,
  mediaPartTokens: { image: 1, audio: 1, video: 1, document: 1, reference: 1 },
  allow: { file_id: true },
  rates: { calls: { perMinute: 60 }, tokens: { perDay: 100 } },
  maxCandidates: 2,
  sameVectors: false,
  strict: false,
  createdAtSeconds: 1,
  displayName: 'GPT',
  description: 'A model.',
  timeouts: { idleMs: 5_000 },
};

const modelMembers: readonly Member[] = [
  ['id', 'gpt-5'],
  ['vendor', 'OpenAI'],
  ['protocols', ['chat']],
  ['groups', ['staff']],
  ['price', { per: 'free' }],
  ['price.per', 'token'],
  ['price.rates', { input: 100n, output: 100n }],
  ['price.rates.input', 100n],
  ['price.rates.output', 100n],
  ['channels', []],
  ['channels.0', channel],
  ['channels.0.id', 'openai-1'],
  ['channels.0.dialect', 'openai'],
  ['channels.0.baseUrl', 'https://api.openai.com/v1'],
  ['channels.0.credential', 'sk-one'],
  ['channels.0.account', 'one'],
  ['channels.0.upstreamModel', 'gpt'],
  ['channels.0.priority', 1],
  ['channels.0.weight', 1],
  ['channels.0.maxPriceNanos', 100n],
  ['channels.0.cost', { per: 'free' }],
  ['channels.0.groups', ['staff']],
  ['channels.0.maxConcurrentCalls', 5],
  ['channels.0.stickyBy', 'key'],
  ['channels.0.rejectsBeforeWork', true],
  ['channels.0.headers', {}],
  ['channels.0.headers.weight', 'x'],
  ['channels.0.headers.priority', 'y'],
  ['channels.0.usageTrust', 'held'],
  ['channels.0.hideErrors', true],
  ['channels.0.timeouts', {}],
  ['channels.0.timeouts.idleMs', 5_000],
  ['aliases', ['gpt']],
  ['fallbacks', []],
  ['maxOutputTokens', 100],
  ['contextTokens', 1_000],
  ['tokensPerByte', 0.5],
  ['mediaPartTokens', {}],
  ['mediaPartTokens.image', 1],
  ['mediaPartTokens.audio', 1],
  ['mediaPartTokens.video', 1],
  ['mediaPartTokens.document', 1],
  ['mediaPartTokens.reference', 1],
  ['allow', {}],
  ['allow.file_id', true],
  ['rates', { calls: { perMinute: 60 } }],
  ['rates.calls', { perMinute: 60 }],
  ['rates.calls.perMinute', 60],
  ['rates.tokens', { perDay: 100 }],
  ['maxCandidates', 2],
  ['sameVectors', false],
  ['strict', false],
  ['createdAtSeconds', 1],
  ['displayName', 'GPT'],
  ['description', 'A model.'],
  ['timeouts', {}],
  ['timeouts.idleMs', 5_000],
];

const clock = { now: () => 0, monotonicMs: () => 0, every: () => () => {} };

const options = {
  keys: memoryKeyStore(),
  quota: memoryQuotaStore(),
  catalog: staticCatalog([]),
  clock,
  timeouts: { idleMs: 1_000 },
  defaultRates: [{ calls: { perMinute: 1 }, tokens: { perDay: 1 } }],
  nativeKeyHeaders: ['x-one', 'x-two'],
  sessions: { find: () => undefined, origins: ['https://app.example'] },
};

const optionMembers: readonly Member[] = [
  ['keys', memoryKeyStore()],
  ['quota', memoryQuotaStore()],
  ['catalog', staticCatalog([])],
  ['sessions', options.sessions],
  ['sessions.find', () => undefined],
  ['sessions.origins', ['https://app.example']],
  ['sessions.origins.0', 'https://app.example'],
  ['failedKeyLimit', { addressOf: () => undefined }],
  ['rateLimiter', { take: () => undefined, adjust: () => undefined }],
  ['defaultRates', []],
  ['defaultRates.0', { calls: { perMinute: 1 } }],
  ['defaultRates.0.calls.perMinute', 1],
  ['guard', { check: () => undefined }],
  ['usage', { record: () => undefined, close: () => undefined }],
  ['recordRefusals', { recordRefusals: () => undefined }],
  ['idempotency', { claim: () => 0, finish: () => 0, abandon: () => 0 }],
  ['results', { put: () => 0, get: () => 0 }],
  ['responses', {}],
  ['dedupeSdkRetries', true],
  ['upstream', { send: () => 0, close: () => 0 }],
  ['nativeKeyHeaders', ['x-one']],
  ['nativeKeyHeaders.0', 'x-one'],
  ['allowQueryKey', true],
  ['unserved', 'pass'],
  ['ownerRoutes', true],
  ['defaultImageModel', 'gpt-image'],
  ['maxBodyBytes', 100],
  ['maxImageBodyBytes', 100],
  ['maxBufferedBytes', 1_000_000_000],
  ['maxConcurrentCalls', 5],
  ['maxEmbeddingPieces', 5],
  ['timeouts', {}],
  ['timeouts.idleMs', 5],
  ['callerStallMs', 5],
  ['leaseMs', 30_000],
  ['storeTimeoutMs', 5],
  ['onEvent', () => undefined],
  ['clock', clock],
  ['ids', () => 'id'],
  ['random', () => 0],
];

/** A copy with another value at the path; without the member if there is no value. */
function changed(value: unknown, path: readonly string[], change: readonly unknown[]): unknown {
  const [name, ...below] = path;
  if (name === undefined) return change[0];
  if (Array.isArray(value)) {
    return value.map((one, index) => (String(index) === name ? changed(one, below, change) : one));
  }
  const copy: Record<string, unknown> = { ...Object(value) };
  if (below.length === 0 && change.length === 0) delete copy[name];
  else copy[name] = changed(copy[name], below, change);
  return copy;
}

/** What a check says of a value; undefined if the value is right. */
type Said = { readonly member: string; readonly text: string } | undefined;

const checks = recordChecks();

function ofKeyRecord(value: unknown): Said {
  if (checks.isKeyOrMissing(value)) return undefined;
  const wrong = checks.isKeyOrMissing.wrongMember?.(value);
  return { member: wrong?.member ?? '', text: wrong?.problem ?? '' };
}

function ofModelRecord(value: unknown): Said {
  if (recordChecks().isModelOrMissing(value)) return undefined;
  const wrong = checks.isModelOrMissing.wrongMember?.(value);
  return { member: wrong?.member ?? '', text: wrong?.problem ?? '' };
}

/** The member and the text of an error of set-up, which begins with the path. */
function thrownBy(setUp: () => unknown, root: RegExp): Said {
  try {
    setUp();
    return undefined;
  } catch (error) {
    const [line = ''] = error instanceof Error ? error.message.split('\n') : [];
    const [, member = '', text = ''] = /^(\S+?):? (.*)$/.exec(line.replace(root, '')) ?? [];
    return { member, text };
  }
}

function ofCatalog(value: unknown): Said {
  return thrownBy(
    () => staticCatalog(untyped([value])()),
    /^(?:Model ".*?": )?(?:staticCatalog: )?models\[0\]\.?/,
  );
}

function ofOptions(value: unknown): Said {
  return thrownBy(() => settingsOf(untyped(value)()), /^options\.?/);
}

function ofNewKey(value: unknown): Said {
  return thrownBy(() => issueKey(untyped(value)()), /^issueKey: (?:options\.?)?/);
}

const subjects: readonly {
  readonly what: string;
  readonly valid: object;
  readonly members: readonly Member[];
  readonly check: (value: unknown) => Said;
}[] = [
  { what: 'a key’s record', valid: keyRecord, members: keyMembers, check: ofKeyRecord },
  { what: 'a new key', valid: keyRecord, members: keyMembers, check: ofNewKey },
  { what: 'a model’s record', valid: model, members: modelMembers, check: ofModelRecord },
  { what: 'a model of a catalog', valid: model, members: modelMembers, check: ofCatalog },
  { what: 'the options', valid: options, members: optionMembers, check: ofOptions },
];

/** `quota.0.id` as texts write it: `quota[0].id`. */
function written(path: string): string {
  return path.replace(/\.(\d+)/g, '[$1]');
}

/** What following a text makes of the value; undefined if the text advises nothing to try. */
function followed(text: string, wrong: unknown, path: readonly string[]): unknown {
  const [, named] = /Leave (\w+) out/.exec(text) ?? [];
  if (named === 'it') return changed(wrong, path, []);
  return named === undefined ? undefined : changed(wrong, [named], []);
}

describe.each(subjects)('$what', ({ valid, members, check }) => {
  it('is right as it is listed here', () => {
    expect(check(valid)).toBeUndefined();
  });

  it.each(members)('%s', (member, legal) => {
    const path = member.split('.');
    const right = changed(valid, path, [legal]);
    expect(check(right)).toBeUndefined();
    let refusals = 0;

    for (const value of wrongValues) {
      const wrong = changed(valid, path, [value]);
      const said = check(wrong);
      if (said === undefined) continue;
      refusals += 1;

      // The rules between the members of a new key name it in the sentence.
      expect(`${said.member} ${said.text}`).toContain(written(member));
      expect(said.text).toMatch(/\.$/);
      expect(said.text).not.toMatch(/Invalid input|undefined|NaN|Expected/);
      // A bigint is asked for only where one is legal.
      const [, named = legal] = members.find(([one]) => written(one) === said.member) ?? [];
      if (/100n/.test(said.text)) expect(typeof named).toBe('bigint');
      // To write what the text asks for is right.
      expect(check(changed(wrong, path, [legal]))).toBeUndefined();
      // To leave out what the text says may be left out is right too.
      const fixed = followed(said.text, wrong, path);
      if (fixed !== undefined) expect(check(fixed)).toBeUndefined();
    }
    expect(refusals).toBeGreaterThan(3);
  });
});

describe('a misspelt member', () => {
  const misspelt = subjects.filter(({ what }) => !what.includes('record'));

  it.each(misspelt)('of $what is named with the one that is meant', ({ valid, members, check }) => {
    for (const [member, legal] of members) {
      const path = member.split('.');
      const name = path.at(-1) ?? '';
      const place = path.slice(0, -1);
      if (/^\d+$/.test(name) || name.length < 6 || /headers|sessions/.test(member)) continue;
      for (const typo of [name.slice(0, -1), `${name}s`, name.replace(/(.)$/, '$1$1')]) {
        if (members.some(([other]) => other === [...place, typo].join('.'))) continue;
        const wrong = changed(changed(valid, path, []), [...place, typo], [legal]);
        const hint = `Did you mean ${name}?`;
        const said = textOf(check, wrong);

        expect([typo, said]).toEqual([typo, expect.stringContaining(hint)]);
        // Followed, the text is right.
        expect(check(changed(changed(wrong, [...place, typo], []), path, [legal]))).toBeUndefined();
      }
    }
  });
});

/** The text that is left where a missing member is reported before the misspelt one. */
function textOf(check: (value: unknown) => Said, wrong: unknown): string {
  return check === ofCatalog ? allOf(wrong) : (check(wrong)?.text ?? '');
}

function allOf(value: unknown): string {
  try {
    staticCatalog(untyped([value])());
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
}

it('the lists have every member of the types', () => {
  const names = (members: readonly Member[]) => members.map(([path]) => path.split('.')[0]);
  const ofKeys: Record<keyof Omit<ApiKey, 'metadata'>, unknown> = keyRecord;
  const ofModels: Record<keyof Model, unknown> = model;
  const ofChannels: Record<keyof Omit<Channel, 'capabilities'>, unknown> = channel;

  expect(new Set(names(keyMembers))).toEqual(new Set(Object.keys(ofKeys)));
  expect(new Set(names(modelMembers))).toEqual(new Set(Object.keys(ofModels)));
  expect(Object.keys(ofChannels).filter((name) => !isListed(`channels.0.${name}`))).toEqual([]);
});

function isListed(path: string): boolean {
  return modelMembers.some(([listed]) => listed === path);
}
