/** docs/events.md has a line for each event, and no other. */
import { expect, it } from 'vitest';
import { defaultLevels } from '../../src/event-filter.ts';
import { readText } from './sources.ts';

it('docs/events.md describes each event', () => {
  const described = [...rowsBelow('## The course of a request'), ...rowsBelow('## What may need')];

  expect(described.sort()).toEqual(Object.keys(defaultLevels).sort());
});

/** The names in the first column of the table below a heading. */
function rowsBelow(heading: string): string[] {
  const names = [...section(heading).matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name);
  if (names.length === 0) throw new Error(`docs/events.md has no table: ${heading}`);
  return names;
}

/** The text from a heading to the next one. */
function section(heading: string): string {
  const page = readText('docs/events.md');
  const at = page.indexOf(`\n${heading}`);
  if (at === -1) throw new Error(`docs/events.md has no heading: ${heading}`);
  const next = page.indexOf('\n## ', at + heading.length);
  return page.slice(at, next === -1 ? undefined : next);
}
