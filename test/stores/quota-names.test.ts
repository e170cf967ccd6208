// suite: slow
/** Valid names of subjects, periods and holds, as the port documents them. */
import { expect, it } from 'vitest';
import { checkEnding, isName, isPeriod } from '../../src/ports/limits/quota-input.ts';
import { untyped } from '../stages/ports/failing.ts';

/** Every character up to 255 and a look-alike, to be put at the beginning, middle and end. */
const characters = [...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)), '１'];
const around = (text: string): readonly string[] =>
  characters.flatMap((character) => [
    `${character}${text.slice(1)}`,
    `${text.slice(0, 4)}${character}${text.slice(5)}`,
    `${text.slice(0, -1)}${character}`,
    `${text}${character}`,
  ]);
const lengths = (character: string): readonly string[] =>
  Array.from({ length: 70 }, (_, length) => character.repeat(length));

it('a name must match the pattern', () => {
  const texts = [...around('a-subject_1.2'), ...lengths('a'), ...characters];

  expect(texts.filter(isName)).toEqual(texts.filter((text) => /^[A-Za-z0-9._-]{1,64}$/.test(text)));
});

it('a period must be empty, a month or a day', () => {
  const texts = [...around('2026-11'), ...around('2026-11-20'), ...lengths('1'), '2026-11-2'];

  expect(texts.filter(isPeriod)).toEqual(
    texts.filter((text) => /^(?:\d{4}-\d{2}(?:-\d{2})?)?$/.test(text)),
  );
});

it('an id must match the pattern', () => {
  const texts = [...around('a-hold_of_17_char'), ...lengths('a')];
  const isTaken = (id: string): boolean => {
    try {
      const lines = [{ subject: 'alice', period: '', amount: 1n }];
      checkEnding({ id, partition: 'default', lines });
      return true;
    } catch {
      return false;
    }
  };

  expect(texts.filter(isTaken)).toEqual(
    texts.filter((text) => /^[A-Za-z0-9_-]{16,64}$/.test(text)),
  );
});

it('a value that is not a string is not a name', () => {
  for (const value of [undefined, null, 5, 2026n, ['alice'], { length: 7 }]) {
    const text = untyped(value)();

    expect([isName(text), isPeriod(text)]).toEqual([false, false]);
  }
});
