// suite: search
/**
 * Every member of a record, an option or a model, with every kind of wrong value: the text names
 * the member, and what it advises works.
 */
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { issueKey } from '../../src/issue-key.ts';
import { settingsOf } from '../../src/options.ts';
import { recordChecks } from '../../src/stages/ports/record-checks.ts';
import { untyped } from './ports/failing.ts';
import {
  channel,
  keyMembers,
  keyRecord,
  type Member,
  model,
  modelMembers,
  optionMembers,
  options,
  wrongValues,
} from './ports/record-members.ts';

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
type Wrong = { readonly member: string; readonly text: string } | undefined;

const checks = recordChecks();

function ofKeyRecord(value: unknown): Wrong {
  if (checks.isKeyOrMissing(value)) return undefined;
  const wrong = checks.isKeyOrMissing.wrongMember?.(value);
  return { member: wrong?.member ?? '', text: wrong?.problem ?? '' };
}

function ofModelRecord(value: unknown): Wrong {
  if (recordChecks().isModelOrMissing(value)) return undefined;
  const wrong = checks.isModelOrMissing.wrongMember?.(value);
  return { member: wrong?.member ?? '', text: wrong?.problem ?? '' };
}

/** The member and the text of an error of set-up, which begins with the path. */
function thrownBy(setUp: () => unknown, root: RegExp): Wrong {
  try {
    setUp();
    return undefined;
  } catch (error) {
    const [line = ''] = error instanceof Error ? error.message.split('\n') : [];
    const [, member = '', text = ''] = /^(\S+?):? (.*)$/.exec(line.replace(root, '')) ?? [];
    return { member, text };
  }
}

function ofCatalog(value: unknown): Wrong {
  return thrownBy(
    () => staticCatalog(untyped([value])()),
    /^(?:Model ".*?": )?(?:staticCatalog: )?models\[0\]\.?/,
  );
}

function ofOptions(value: unknown): Wrong {
  return thrownBy(() => settingsOf(untyped(value)()), /^options\.?/);
}

function ofNewKey(value: unknown): Wrong {
  return thrownBy(() => issueKey(untyped(value)()), /^issueKey: (?:options\.?)?/);
}

/** A store adds `sharedRates` to a record; beside an owner there can be no `quotaPartition`. */
const { sharedRates: _, quotaPartition: __, ...newKey } = keyRecord;
const newKeyMembers = keyMembers.filter(([member]) => !/^(?:sharedR|quotaP)/.test(member));

const subjects: readonly {
  readonly what: string;
  readonly valid: object;
  readonly members: readonly Member[];
  readonly check: (value: unknown) => Wrong;
}[] = [
  { what: 'a key’s record', valid: keyRecord, members: keyMembers, check: ofKeyRecord },
  { what: 'a new key', valid: newKey, members: newKeyMembers, check: ofNewKey },
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
      const problem = check(wrong);
      if (problem === undefined) continue;
      refusals += 1;

      // The rules between the members of a new key name it in the sentence.
      expect(`${problem.member} ${problem.text}`).toContain(written(member));
      expect(problem.text).toMatch(/\.$/);
      expect(problem.text).not.toMatch(/Invalid input|undefined|NaN|Expected/);
      // A bigint is asked for only where one is legal.
      const [, named = legal] = members.find(([one]) => written(one) === problem.member) ?? [];
      if (/100n/.test(problem.text)) expect(typeof named).toBe('bigint');
      // To write what the text asks for is right.
      expect(check(changed(wrong, path, [legal]))).toBeUndefined();
      // To leave out what the text says may be left out is right too.
      const fixed = followed(problem.text, wrong, path);
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
        const problem = textOf(check, wrong);

        expect([typo, problem]).toEqual([typo, expect.stringContaining(hint)]);
        // Followed, the text is right.
        expect(check(changed(changed(wrong, [...place, typo], []), path, [legal]))).toBeUndefined();
      }
    }
  });
});

/** The text that is left where a missing member is reported before the misspelt one. */
function textOf(check: (value: unknown) => Wrong, wrong: unknown): string {
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

  expect(new Set(names(keyMembers))).toEqual(new Set(Object.keys(keyRecord)));
  expect(new Set(names(modelMembers))).toEqual(new Set(Object.keys(model)));
  expect(Object.keys(channel).filter((name) => !isListed(`channels.0.${name}`))).toEqual([]);
});

function isListed(path: string): boolean {
  return modelMembers.some(([listed]) => listed === path);
}
