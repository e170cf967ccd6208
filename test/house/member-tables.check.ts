/** The tables of the members of models and channels in docs agree with the types. */
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { protocolNames } from '../../src/apis.ts';
import { vendorCapabilities } from '../../src/dialects/vendors.ts';
import { parse, readText } from './sources.ts';

describe('docs', () => {
  it.each([
    ['docs/catalog.md', 'Members of a model', 'Model'],
    ['docs/channels.md', 'Members of a channel', 'Channel'],
  ])('%s, "%s", has each member of %s in its order, and no other', (page, heading, type) => {
    const expected = membersOf(type);

    expect(namesIn(page, heading)).toEqual(expected.map(({ name }) => name));
  });

  it.each([
    ['docs/catalog.md', 'Members of a model', 'Model'],
    ['docs/channels.md', 'Members of a channel', 'Channel'],
  ])('%s, "%s", says which members of %s are required', (page, heading, type) => {
    const required = rowsOf(page, heading)
      .filter((row) => row.trimEnd().endsWith('; required |'))
      .flatMap(firstNames);

    expect(required).toEqual(
      membersOf(type).flatMap(({ name, isRequired }) => (isRequired ? [name] : [])),
    );
  });

  it('docs/catalog.md has each protocol', () => {
    expect(namesIn('docs/catalog.md', 'Protocols').toSorted()).toEqual([...protocolNames].sort());
  });

  it('docs/channels.md has each preset of capabilities', () => {
    const text = rowsOf('docs/channels.md', 'Other providers').join('\n');
    const presets = [...text.matchAll(/`vendorCapabilities\.(\w+)`/g)].map(([, name]) => name);

    expect(presets.sort()).toEqual(Object.keys(vendorCapabilities).sort());
  });
});

/** The names in the first cells of the first table below a heading. */
function namesIn(page: string, heading: string): readonly string[] {
  return rowsOf(page, heading).flatMap(firstNames);
}

function rowsOf(page: string, heading: string): readonly string[] {
  const [, below] = readText(page).split(new RegExp(`^#+ ${heading}\n`, 'm'));
  const [, rows] = /^\|[ -]+\|.*\n((?:\|.*\n)+)/m.exec(below ?? '') ?? [];
  if (rows === undefined) throw new Error(`${page} has no table below "${heading}".`);
  return rows.trimEnd().split('\n');
}

function firstNames(row: string): readonly string[] {
  return [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
}

/** The members of an interface of `ports/catalog.ts`. */
function membersOf(
  type: string,
): readonly { readonly name: string; readonly isRequired: boolean }[] {
  const file = parse('src/ports/models/catalog.ts', readText('src/ports/models/catalog.ts'));
  const found = file.statements
    .filter(ts.isInterfaceDeclaration)
    .find(({ name }) => name.text === type);
  if (found === undefined) throw new Error(`src/ports/models/catalog.ts has no interface ${type}.`);
  return found.members.map((member) => ({
    name: member.name?.getText() ?? '',
    isRequired: member.questionToken === undefined,
  }));
}
