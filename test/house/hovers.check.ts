/**
 * What an editor shows of a public member: each one that the entries of the package lead to has a
 * comment with its meaning, and its unit and default where it has them. A member with one literal
 * as its type, such as the tag of a union, says all by itself.
 */
import ts from 'typescript';
import { expect, it } from 'vitest';
import { member, parseJson } from '../../src/json.ts';
import { parse, placeOf, readText, resolveImport } from './sources.ts';

/** Where the types describe objects of other packages, whose own types have the hovers. */
const foreign: ReadonlySet<string> = new Set([
  ...['adapters/fastify.ts', 'adapters/host.ts', 'adapters/koa.ts', 'src/prometheus/registry.ts'],
  ...['src/stores/redis/client.ts', 'src/stores/redis/binary-client.ts'],
  ...['src/stores/postgres/client.ts', 'src/stores/sqlite/handle.ts'],
]);

type Declared =
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.ClassDeclaration
  | ts.FunctionDeclaration
  | ts.VariableDeclaration;

type Member = ts.PropertySignature | ts.MethodSignature | ts.PropertyDeclaration;

const parsed = new Map<string, ts.SourceFile>();

it('every public member has a hover', () => {
  const entries = parseJson(readText('tsconfig.types.json')) ?? null;
  const found = undocumentedFrom(textsOf(member(entries, 'files')));

  expect(found).toEqual([]);
});

it('a member without a comment would be found, in a type that another one refers to', () => {
  const text = `/** A. */
export interface Shown {
  /** B. */
  readonly kept: Inner;
  readonly tag: 'a';
}
interface Inner { /** No editor shows this. */ readonly bare: number }`;
  parsed.set('src/sample.ts', parse('src/sample.ts', text));

  expect(undocumentedFrom(['src/sample.ts'])).toEqual(['src/sample.ts:7 bare']);
});

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** The members without a comment, of all that these files export and of what that refers to. */
function undocumentedFrom(entries: readonly string[]): readonly string[] {
  const visited = new Set<Declared>();
  const found: string[] = [];
  const visit = (node: Declared): void => {
    if (visited.has(node)) return;
    visited.add(node);
    const file = node.getSourceFile();
    for (const part of publicParts(node)) {
      if (isBareMember(part) && !foreign.has(file.fileName) && !isInherited(part)) {
        found.push(`${placeOf(file, part.getStart())} ${part.name?.getText()}`);
      }
      const name = referredName(part);
      const declared = name === undefined ? undefined : declarationOf(file.fileName, name);
      if (declared !== undefined) visit(declared);
    }
  };
  for (const path of entries) {
    for (const name of exportedNames(fileAt(path))) {
      const declared = declarationOf(path, name);
      if (declared !== undefined) visit(declared);
    }
  }
  return [...new Set(found)].sort();
}

function fileAt(path: string): ts.SourceFile {
  const known = parsed.get(path) ?? parse(path, readText(path));
  parsed.set(path, known);
  return known;
}

function exportedNames(file: ts.SourceFile): readonly string[] {
  return file.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const clause = statement.exportClause;
      return clause !== undefined && ts.isNamedExports(clause)
        ? clause.elements.map(({ name }) => name.text)
        : [];
    }
    const isExported = ts.canHaveModifiers(statement)
      ? ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
      : false;
    return isExported ? declaredIn(statement).flatMap(({ name }) => name?.getText() ?? []) : [];
  });
}

function declaredIn(statement: ts.Statement): readonly Declared[] {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations;
  const isDeclared =
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isFunctionDeclaration(statement);
  return isDeclared ? [statement] : [];
}

/** The declaration of a name as a file sees it: its own, or one that it imports or re-exports. */
function declarationOf(path: string, name: string): Declared | undefined {
  const { statements } = fileAt(path);
  const own = statements.flatMap(declaredIn).find((declared) => declared.name?.getText() === name);
  if (own !== undefined) return own;
  for (const statement of statements) {
    const isFrom = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement);
    if (!isFrom || statement.moduleSpecifier === undefined) continue;
    const named = ts.isImportDeclaration(statement)
      ? statement.importClause?.namedBindings
      : statement.exportClause;
    if (named === undefined || !(ts.isNamedImports(named) || ts.isNamedExports(named))) continue;
    const element = [...named.elements].find((one) => one.name.text === name);
    if (element === undefined || !ts.isStringLiteral(statement.moduleSpecifier)) continue;
    const to = resolveImport(path, statement.moduleSpecifier.text);
    return to === undefined
      ? undefined
      : declarationOf(to, (element.propertyName ?? element.name).text);
  }
  return undefined;
}

/** The nodes that a host's editor can show: no bodies, no initial values, no private members. */
function publicParts(node: ts.Node): readonly ts.Node[] {
  return node.getChildren().flatMap((child) => {
    const isHidden =
      ts.isBlock(child) ||
      (ts.isExpression(child) &&
        !ts.isIdentifier(child) &&
        !ts.isExpressionWithTypeArguments(child)) ||
      (ts.isClassElement(child) && isPrivate(child));
    return isHidden ? [] : [child, ...publicParts(child)];
  });
}

function isPrivate(element: ts.ClassElement): boolean {
  return element.name !== undefined && ts.isPrivateIdentifier(element.name);
}

function isMember(node: ts.Node): node is Member {
  return (
    ts.isPropertySignature(node) || ts.isMethodSignature(node) || ts.isPropertyDeclaration(node)
  );
}

function isBareMember(node: ts.Node): node is Member {
  if (!isMember(node) || ts.isComputedPropertyName(node.name)) return false;
  const value = ts.isPropertyDeclaration(node) ? node.initializer : undefined;
  const saysAll =
    (node.type !== undefined && isTag(node.type)) ||
    (value !== undefined && ts.isStringLiteral(value));
  return !saysAll && ts.getJSDocCommentsAndTags(node).length === 0;
}

function isTag(type: ts.TypeNode): boolean {
  return (
    ts.isLiteralTypeNode(type) ||
    type.kind === ts.SyntaxKind.NeverKeyword ||
    type.kind === ts.SyntaxKind.UndefinedKeyword
  );
}

/** An editor shows the comment of the member that a type overrides or implements. */
function isInherited(member: Member): boolean {
  const { parent } = member;
  if (!ts.isInterfaceDeclaration(parent) && !ts.isClassDeclaration(parent)) return false;
  const { fileName } = parent.getSourceFile();
  const names = (parent.heritageClauses ?? [])
    .flatMap(publicParts)
    .flatMap((part) => referredName(part) ?? []);
  return names.some((name) => {
    const base = declarationOf(fileName, name);
    const overridden =
      base === undefined
        ? undefined
        : publicParts(base).find(
            (part) => isMember(part) && part.name.getText() === member.name.getText(),
          );
    return (
      overridden !== undefined &&
      isMember(overridden) &&
      (!isBareMember(overridden) || isInherited(overridden))
    );
  });
}

function referredName(node: ts.Node): string | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName.getText();
  if (ts.isExpressionWithTypeArguments(node)) return node.expression.getText();
  if (ts.isTypeQueryNode(node)) return node.exprName.getText();
  return undefined;
}
