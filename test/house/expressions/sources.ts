/** Every regular expression of the published code, with the values of those that it builds. */
import { runInNewContext } from 'node:vm';
import ts from 'typescript';
import { nodesOf, parse, placeOf, readText, resolveImport, sources } from '../sources.ts';

/** An expression, and where it is written. */
export interface Found {
  readonly place: string;
  readonly expression: RegExp;
}

/** The expressions of `src` and `adapters`. */
export function publishedExpressions(): readonly Found[] {
  return sources()
    .filter(({ fileName }) => /^(?:src|adapters)\//.test(fileName))
    .flatMap(expressionsIn);
}

/**
 * The expressions of a file: literals, and calls of `RegExp`, which are evaluated from the
 * constants and functions of the modules.
 *
 * @throws Error for a call of `RegExp` with anything else, such as a parameter
 */
export function expressionsIn(file: ts.SourceFile): readonly Found[] {
  return nodesOf(file).flatMap((node) => {
    const isBuilt =
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      node.expression.getText() === 'RegExp';
    if (!isBuilt && !ts.isRegularExpressionLiteral(node)) return [];
    const place = placeOf(file, node.getStart());
    const value = builtExpression(node, file, place);
    return [{ place, expression: new RegExp(value.source, value.flags) }];
  });
}

function builtExpression(node: ts.Expression, file: ts.SourceFile, place: string): RegExp {
  try {
    return evaluated(node, file);
  } catch (error) {
    throw new Error(`${place} must be built from constants of modules: ${error}`);
  }
}

/** Runs an expression with the values of the names in it that modules declare. */
function evaluated(node: ts.Node, file: ts.SourceFile): RegExp {
  const names = nodesOf(node).filter(ts.isIdentifier).filter(isReference);
  const values = names.flatMap((name) => {
    const found = declarationOf(name.text, file);
    return found === undefined ? [] : [[name.text, evaluated(found.node, found.file)] as const];
  });
  const { outputText } = ts.transpileModule(`(${node.getText().replace(/^export /, '')})`, {
    compilerOptions: { target: ts.ScriptTarget.ES2023 },
  });
  return runInNewContext(outputText, Object.fromEntries(values));
}

function isReference({ parent, text }: ts.Identifier): boolean {
  if (ts.isFunctionDeclaration(parent)) return false;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression.getText() === text;
  return !ts.isPropertyAssignment(parent) || parent.initializer.getText() === text;
}

interface Declared {
  readonly node: ts.Node;
  readonly file: ts.SourceFile;
}

/** What a module's name stands for: an initializer, a function, or the same of an import. */
function declarationOf(name: string, file: ts.SourceFile): Declared | undefined {
  for (const statement of file.statements) {
    if (ts.isFunctionDeclaration(statement) && statement.name?.text === name) {
      return { node: statement, file };
    }
    if (ts.isVariableStatement(statement)) {
      const declared = statement.declarationList.declarations.find(
        (one) => one.name.getText() === name,
      );
      if (declared?.initializer !== undefined) return { node: declared.initializer, file };
    }
    if (ts.isImportDeclaration(statement)) {
      const imported = importedFrom(statement, name, file);
      if (imported !== undefined) return imported;
    }
  }
  return undefined;
}

function importedFrom(
  { importClause, moduleSpecifier }: ts.ImportDeclaration,
  name: string,
  { fileName }: ts.SourceFile,
): Declared | undefined {
  const bindings = importClause?.namedBindings;
  if (bindings === undefined || !ts.isNamedImports(bindings)) return undefined;
  const binding = bindings.elements.find((element) => element.name.text === name);
  const path = resolveImport(fileName, moduleSpecifier.getText().slice(1, -1));
  if (binding === undefined || path === undefined) return undefined;
  return declarationOf((binding.propertyName ?? binding.name).text, parse(path, readText(path)));
}
