/** The files of the repo, read and parsed for the style checks. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The root folder of the repo. */
export const root: string = fileURLToPath(new URL('../../', import.meta.url));

/** An import of a file: the specifier as written, and whether it imports only types. */
export interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

const notOurs = new Set(['.git', '.build', 'node_modules', 'dist', 'coverage', 'fixtures']);

/** Paths relative to the repo's root, with `/`, without installed, built or recorded files. */
export function repoFiles(folder = ''): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !notOurs.has(name))
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      return entry.isDirectory() ? repoFiles(path) : [path];
    })
    .sort();
}

/** The text of a file of {@link repoFiles}. */
export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Parses the text into nodes with parents; types are not resolved. */
export function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
}

/** Every TypeScript file of the repo, parsed. */
export function sources(): readonly ts.SourceFile[] {
  return repoFiles()
    .filter((path) => /\.m?ts$/.test(path))
    .map((path) => parse(path, readText(path)));
}

/** A cache, because about twenty rules visit the nodes of all files. */
const known = new WeakMap<ts.Node, readonly ts.Node[]>();

/** The node and its descendants, in the order of the text. */
export function nodesOf(node: ts.Node): readonly ts.Node[] {
  const found = known.get(node);
  if (found !== undefined) return found;
  const nodes: ts.Node[] = [];
  const add = (one: ts.Node): void => {
    nodes.push(one);
    for (const child of one.getChildren()) add(child);
  };
  add(node);
  if (ts.isSourceFile(node)) known.set(node, nodes);
  return nodes;
}

/** `src/gateway.ts:12`, for a failed test to name. */
export function placeOf(file: ts.SourceFile, position: number): string {
  return `${file.fileName}:${file.getLineAndCharacterOfPosition(position).line + 1}`;
}

/** Every import of a file: static, dynamic, re-exported, or inside a type. */
export function importsOf(file: ts.SourceFile): readonly Import[] {
  return [...nodesOf(file)].flatMap((node) => {
    const found = importAt(node);
    return found === undefined ? [] : [found];
  });
}

/** The path from the repo's root of a relative specifier; undefined for a package. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  return relative(root, join(root, dirname(from), specifier)).replaceAll('\\', '/');
}

function importAt(node: ts.Node): Import | undefined {
  if (ts.isImportDeclaration(node)) return read(node.moduleSpecifier, importsTypesOnly(node));
  if (ts.isExportDeclaration(node)) return read(node.moduleSpecifier, node.isTypeOnly);
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return read(node.argument.literal, true);
  }
  const dynamic = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  return dynamic ? read(node.arguments[0], false) : undefined;
}

function read(specifier: ts.Node | undefined, typeOnly: boolean): Import | undefined {
  if (specifier === undefined || !ts.isStringLiteral(specifier)) return undefined;
  return { specifier: specifier.text, typeOnly };
}

function importsTypesOnly({ importClause }: ts.ImportDeclaration): boolean {
  if (importClause === undefined) return false;
  if (importClause.isTypeOnly) return true;
  const { name, namedBindings } = importClause;
  if (name !== undefined || namedBindings === undefined) return false;
  return (
    ts.isNamedImports(namedBindings) && namedBindings.elements.every(({ isTypeOnly }) => isTypeOnly)
  );
}
