/** The table in docs/options.md agrees with `options.ts`: every name, every default. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { defaultOptions } from '../../src/options.ts';
import { parse, readText, root } from './sources.ts';

interface Row {
  readonly name: string;
  readonly byDefault: string;
}

describe('the table in docs/options.md', () => {
  it('has a row for each option, and no other', () => {
    const expected = optionNames().flatMap((name) => leavesOf(name).map((leaf) => leaf.name));

    expect(tableRows().map(({ name }) => name)).toEqual(expected);
  });

  it('has each default of options.ts', () => {
    const expected = optionNames()
      .flatMap(leavesOf)
      .filter(({ value }) => value !== undefined);
    const rows = new Map(tableRows().map(({ name, byDefault }) => [name, byDefault]));

    expect(expected.map(({ name }) => `${name}: ${rows.get(name)}`)).toEqual(
      expected.map(({ name, value }) => `${name}: ${written(name, value)}`),
    );
  });
});

/** The rows whose first cell is `` `name` ``, up to the next heading. */
function tableRows(): readonly Row[] {
  const page = existsSync(join(root, 'docs/options.md')) ? readText('docs/options.md') : '';
  const rows = [...page.matchAll(/^\| *`([^`|]+)` *\|([^|]*)\|/gm)].map(
    ([, name = '', byDefault = '']) => ({ name, byDefault: byDefault.trim() }),
  );
  if (rows.length === 0) {
    throw new Error('docs/options.md has no table "| `name` | default | … |".');
  }
  return rows;
}

/** The members of `GatewayOptions`, in the order of the file. */
function optionNames(): readonly string[] {
  const options = parse('src/options.ts', readText('src/options.ts')).statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === 'GatewayOptions',
  );
  if (options === undefined || !ts.isInterfaceDeclaration(options)) {
    throw new Error('src/options.ts has no interface GatewayOptions.');
  }
  return options.members.map((member) => member.name?.getText() ?? '');
}

/** `timeouts` has a row for each of its members; every other option has one row. */
function leavesOf(name: string): readonly { readonly name: string; readonly value: unknown }[] {
  const value: unknown = Reflect.get(defaultOptions, name);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ name, value }];
  return Object.entries(value).map(([key, leaf]) => ({ name: `${name}.${key}`, value: leaf }));
}

/** A default as written in the table: `32 MiB`, `5 s`, `10,000`, `` `a`, `b` ``, `false`. */
function written(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => `\`${item}\``).join(', ');
  if (typeof value !== 'number') return String(value);
  if (name.endsWith('Bytes')) return `${value / 2 ** 20} MiB`;
  if (name.endsWith('Ms'))
    return value % 60_000 === 0 ? `${value / 60_000} min` : `${value / 1000} s`;
  return value.toLocaleString('en-US');
}
