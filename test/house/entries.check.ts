/** What the two main entries export: few names for hosts, the others for authors of ports. */
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { parse, readText } from './sources.ts';

const hosts = namesOf('src/index.ts');
const authors = namesOf('src/ports.ts');

describe('the entries', () => {
  it('tollgate has at most 90 names', () => {
    expect(hosts).toContain('createGateway');
    expect(hosts.length).toBeLessThanOrEqual(90);
  });

  it('no name is in both tollgate and tollgate/ports', () => {
    expect(authors).toContain('QuotaStore');
    expect(hosts.filter((name) => authors.includes(name))).toEqual([]);
  });
});

function namesOf(path: string): readonly string[] {
  return parse(path, readText(path))
    .statements.filter(ts.isExportDeclaration)
    .flatMap(({ exportClause }) =>
      exportClause !== undefined && ts.isNamedExports(exportClause)
        ? exportClause.elements.map(({ name }) => name.text)
        : [],
    );
}
