/** docs/events.md has a line for each event and each reason, and no other. */
import ts from 'typescript';
import { expect, it } from 'vitest';
import { failureReasons } from '../../src/failure-reasons.ts';
import { parse, readText } from './sources.ts';

it('docs/events.md describes each reason of failure-reasons.ts, in its order', () => {
  expect(rowsBelow('## Reasons')).toEqual(failureReasons);
});

it('docs/events.md describes each event of events.ts', () => {
  const described = [...rowsBelow('## The course of a request'), ...rowsBelow('## What may need')];

  expect(described.sort()).toEqual(eventTypes());
});

/** The names in the first column of the table below a heading. */
function rowsBelow(heading: string): string[] {
  const page = readText('docs/events.md');
  const at = page.indexOf(`\n${heading}`);
  const next = page.indexOf('\n## ', at + heading.length);
  const section = page.slice(at, next === -1 ? undefined : next);
  const names = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name);
  if (at === -1 || names.length === 0) throw new Error(`docs/events.md has no table: ${heading}`);
  return names;
}

/** The values of `type` in the union `GatewayEvent`, once each. */
function eventTypes(): readonly string[] {
  const types = new Set<string>();
  const visit = (node: ts.Node): void => {
    const isType = ts.isPropertySignature(node) && node.name.getText() === 'type';
    if (isType && node.type !== undefined && ts.isLiteralTypeNode(node.type)) {
      types.add(node.type.getText().replaceAll("'", ''));
    }
    ts.forEachChild(node, visit);
  };
  visit(parse('src/events.ts', readText('src/events.ts')));
  return [...types].sort();
}
