/** docs/events.md has a line for each event and each reason, and no other, in the same words. */
import ts from 'typescript';
import { expect, it } from 'vitest';
import { failureMeanings } from '../../src/failure-meanings.ts';
import { failureReasons } from '../../src/failure-reasons.ts';
import { parse, readText } from './sources.ts';

it('docs/events.md describes each reason of failure-reasons.ts, in its order', () => {
  expect(rowsBelow('## Reasons')).toEqual(failureReasons);
});

it('docs/events.md explains each reason in the words of failure-meanings.ts', () => {
  const rows = section('## Reasons').matchAll(/^\| `\w+` \|.*\|$/gm);
  const explained = failureReasons.map((reason) => {
    const { meaning, remedy = '-' } = failureMeanings[reason];
    return `| \`${reason}\` | ${meaning} | ${remedy} |`;
  });

  expect([...rows].map(([row]) => withoutLinks(row))).toEqual(explained);
});

it('docs/events.md describes each event of events.ts and usage-events.ts', () => {
  const described = [...rowsBelow('## The course of a request'), ...rowsBelow('## What may need')];

  expect(described.sort()).toEqual(eventTypes());
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

function withoutLinks(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
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
  for (const path of ['src/events.ts', 'src/usage-events.ts']) visit(parse(path, readText(path)));
  return [...types].sort();
}
