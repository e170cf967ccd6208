/**
 * No promise floats: each is awaited, returned or discarded with `void`. Biome checks this too, but
 * does not know the types of Node and of packages; the compiler does.
 */
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { nodesOf, parse, placeOf, repoFiles, root } from './sources.ts';

describe('promises', () => {
  it('none floats', () => {
    const published = repoFiles().filter((path) => /^(?:src|adapters)\/.*\.ts$/.test(path));

    expect(published.length).toBeGreaterThan(0);
    expect(droppedIn(ts.createProgram(published.map(inRoot), compilerOptions))).toEqual([]);
  });

  it('a floating one would be found', () => {
    const sample = inRoot('src/sample.ts');
    const text = `import { rm } from 'node:fs/promises';\nrm('a');\nvoid rm('b');\nawait rm('c');`;
    const host = ts.createCompilerHost(compilerOptions);
    const { getSourceFile } = host;
    host.getSourceFile = (name, ...rest) =>
      name === sample ? parse(name, text) : getSourceFile(name, ...rest);

    expect(droppedIn(ts.createProgram([sample], compilerOptions, host))).toEqual([
      'src/sample.ts:2',
    ]);
  });
});

const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts'],
  types: ['node'],
  strict: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};

/** Statements whose promise is neither used nor handled. */
function droppedIn(program: ts.Program): readonly string[] {
  const checker = program.getTypeChecker();
  return program
    .getSourceFiles()
    .filter(({ fileName }) => program.getRootFileNames().includes(fileName))
    .flatMap((file) =>
      [...nodesOf(file)]
        .filter(ts.isExpressionStatement)
        .filter(({ expression }) => isPromise(checker, expression) && !isKept(expression))
        .map((statement) => placeOf(file, statement.getStart()).replace(inRoot('/'), '')),
    );
}

/** `kept = run()`, `run().catch(tell)`, `run().then(go, tell)`, and `finally` after one of them. */
function isKept(expression: ts.Expression): boolean {
  if (ts.isBinaryExpression(expression)) return /=$/.test(expression.operatorToken.getText());
  if (!ts.isCallExpression(expression) || !ts.isPropertyAccessExpression(expression.expression)) {
    return false;
  }
  const { name, expression: before } = expression.expression;
  if (name.text === 'finally') return isKept(before);
  const count = expression.arguments.length;
  return (name.text === 'catch' && count === 1) || (name.text === 'then' && count === 2);
}

/** Whether the expression has a `then`. */
function isPromise(checker: ts.TypeChecker, expression: ts.Expression): boolean {
  const type = checker.getTypeAtLocation(expression);
  const parts = type.isUnion() ? type.types : [type];
  return parts.some((part) => part.getProperty('then') !== undefined);
}

function inRoot(path: string): string {
  return join(root, path).replaceAll('\\', '/');
}
