/** A function has at most 60 lines, but for the hottest, which the bench measures in one piece. */
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { nodesOf, parse, sources } from './sources.ts';

const maxLines = 60;

/** By file and function: why it stays in one piece. */
const reasons: Readonly<Record<string, string>> = {
  'src/bytes/body/reply.ts pushReply':
    'Once for each reply and for each of its turns: one state machine between two sockets.',
  'src/bytes/json/stream/tokens.ts jsonTokens':
    'Run for every byte, at 2 ns in numbers and 0.5 ns in strings, over the same five variables.',
  'src/upstream/body/inbox.ts bodyInbox':
    'Once for each call; its body is handed out by a port, so that it can be no class.',
};

/** A function with a body in braces. */
interface Found {
  readonly name: string;
  readonly lines: number;
}

const long = sources()
  .filter(({ fileName }) => /^(?:src|adapters)\//.test(fileName))
  .flatMap(longFunctions)
  .map(({ name }) => name);

describe('functions of more than 60 lines', () => {
  it('are listed with a reason', () => {
    expect(long.filter((name) => reasons[name] === undefined)).toEqual([]);
  });

  it('are few', () => {
    expect(long.length).toBeLessThanOrEqual(5);
  });

  it('are all that is listed, each with a sentence', () => {
    expect(Object.keys(reasons).filter((name) => !long.includes(name))).toEqual([]);
    expect(Object.values(reasons).filter((reason) => !/^[A-Z].{30,}\.$/.test(reason))).toEqual([]);
  });
});

describe('a function of 61 lines is found', () => {
  const body = '{\n'.concat(';\n'.repeat(59), '}');
  const samples: readonly (readonly [name: string, text: string])[] = [
    ['named', `function named() ${body}`],
    ['named', `const named = () => ${body};`],
    ['named', `const object = { named: () => ${body} };`],
    ['named', `const object = { named() ${body} };`],
    ['constructor', `class Failure extends Error { constructor() ${body} }`],
    ['callback in outer', `const outer = () => run(() => ${body});`],
  ];

  for (const [name, text] of samples) {
    it(`as in ${text.slice(0, text.indexOf('{\n'))}`, () => {
      expect(longFunctions(parse('src/sample.ts', text))).toEqual([
        { name: `src/sample.ts ${name}`, lines: 61 },
      ]);
    });
  }

  it('and one of 60 lines is not', () => {
    const shorter = `function named() {\n${';\n'.repeat(58)}}`;

    expect(longFunctions(parse('src/sample.ts', shorter))).toEqual([]);
  });
});

function longFunctions(file: ts.SourceFile): readonly Found[] {
  return nodesOf(file)
    .filter(isFunctionWithBody)
    .map((node) => ({ name: `${file.fileName} ${nameOf(node)}`, lines: linesOf(file, node) }))
    .filter(({ lines }) => lines > maxLines);
}

function linesOf(file: ts.SourceFile, node: ts.Node): number {
  const lineAt = (position: number): number => file.getLineAndCharacterOfPosition(position).line;
  return lineAt(node.getEnd()) - lineAt(node.getStart()) + 1;
}

function isFunctionWithBody(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return (
    ts.isFunctionLike(node) && 'body' in node && node.body !== undefined && ts.isBlock(node.body)
  );
}

/** Its name, or that of what it is assigned to; for a callback that of the function around it. */
function nameOf(node: ts.FunctionLikeDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  const named = node.name ?? nameOfHolder(node.parent);
  if (named !== undefined) return named.getText();
  for (let around: ts.Node = node.parent; !ts.isSourceFile(around); around = around.parent) {
    if (ts.isFunctionLike(around)) {
      const outer = around.name ?? nameOfHolder(around.parent);
      if (outer !== undefined) return `callback in ${outer.getText()}`;
    }
  }
  return 'callback';
}

function nameOfHolder(parent: ts.Node): ts.Node | undefined {
  return ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)
    ? parent.name
    : undefined;
}
