/** The style rules: each with the files it covers and a sample that breaks it. */

import ts from 'typescript';
import { operations, protocolNames } from '../../src/apis.ts';
import { dialectNames } from '../../src/ports/models/capabilities.ts';
import { nodesOf, placeOf, resolveImport, sources } from './sources.ts';

/** A style rule; `find` returns the positions that break it. */
export interface Rule {
  readonly sentence: string;
  readonly covers: (path: string) => boolean;
  readonly sample: string;
  readonly find: (file: ts.SourceFile) => readonly string[];
}

const everywhere = (): boolean => true;
const published = (path: string): boolean => /^(?:src|adapters)\//.test(path);
const makesHtml =
  /^(?:innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|cssText)$/;
/** Next.js prescribes how these files export their handlers. */
const isRouteOfNext = (path: string): boolean => /^examples\/next\/(?:app|pages)\//.test(path);

/** The rules that can be checked file by file. */
export const rules: readonly Rule[] = [
  {
    sentence: 'begins with a doc comment',
    covers: everywhere,
    sample: `import 'node:fs';\n`,
    find: (file) => (/^(?:#!.*\n|\/\/ suite: .*\n)?\/\*\*/.test(file.text) ? [] : [file.fileName]),
  },
  {
    sentence: 'has at most 400 lines',
    covers: everywhere,
    sample: '\n'.repeat(401),
    find: (file) =>
      file.text.replace(/^\/\/ suite: .*\n/, '').split('\n').length > 401 ? [file.fileName] : [],
  },
  {
    sentence: 'has at most 100 columns',
    covers: everywhere,
    sample: `// ${'x'.repeat(98)}`,
    find: longLines,
  },
  {
    sentence: 'has no default export',
    covers: (path) => !path.endsWith('.config.ts') && !isRouteOfNext(path),
    sample: 'export default function named() {}',
    find: nodes((node) => ts.isExportAssignment(node) || isDefaultModifier(node)),
  },
  {
    sentence:
      'exports what it declares: only an entry of the package re-exports, and never by star',
    covers: (path) => !isRouteOfNext(path),
    sample: `export { a } from './a.ts';`,
    find: nodes((node) => ts.isExportDeclaration(node) && !isNamedEntryExport(node)),
  },
  {
    sentence: 'compares no name of a protocol, an operation or a dialect, where the stages are',
    covers: (path) => /^src\/(?:stages\/|upstream\/|gateway\.ts$)/.test(path),
    sample: `const isImage = (call: Call): boolean => call.protocol === 'images';`,
    find: nodes(comparesName),
  },
  {
    sentence: 'has no any',
    covers: everywhere,
    sample: 'let a: any;',
    find: nodes((node) => node.kind === ts.SyntaxKind.AnyKeyword),
  },
  {
    sentence: 'has no type assertion except as const, outside json.ts',
    covers: (path) => path !== 'src/json.ts',
    sample: 'const a = b as string;',
    find: nodes(isAssertion),
  },
  {
    sentence: 'has no non-null assertion',
    covers: everywhere,
    sample: 'a!.b();',
    find: nodes(
      (node) =>
        ts.isNonNullExpression(node) ||
        (ts.isVariableDeclaration(node) && node.exclamationToken !== undefined),
    ),
  },
  {
    sentence: 'does not use the console',
    covers: published,
    sample: `console.log('a');`,
    find: nodes((node) => ts.isIdentifier(node) && node.text === 'console'),
  },
  {
    sentence: 'reads and prints JSON of calls by functions that keep every digit of a number',
    covers: (path) =>
      /^src\/(?:dialects|canonical)\//.test(path) && path !== 'src/canonical/raw-json.ts',
    sample: 'const text = JSON.stringify(call.args);',
    find: nodes((node) => ts.isIdentifier(node) && node.text === 'JSON'),
  },
  {
    sentence: 'parses what an upstream sent within limits, by the functions of bounded-json.ts',
    covers: (path) =>
      /^src\/(?:canonical|dialects|stages|upstream)\//.test(path) && !parsesCallersText.has(path),
    sample: `const document = parseJson(event.data);`,
    find: nodes(
      (node) =>
        ts.isCallExpression(node) &&
        /^(?:JSON\.parse|parseJson|parseExactly)$/.test(node.expression.getText()),
    ),
  },
  {
    sentence: 'adds no listener to the process, which belongs to the host',
    // The program is a process of its own.
    covers: (path) => published(path) && !/^src\/command\/(?:main|before-end)\.ts$/.test(path),
    sample: `process.once('SIGTERM', stop);`,
    find: nodes(
      (node) =>
        ts.isPropertyAccessExpression(node) &&
        node.expression.getText() === 'process' &&
        /^(?:on|once|addListener|prependListener|prependOnceListener)$/.test(node.name.text),
    ),
  },
  {
    sentence: 'never uses the global fetch, whose bundled copy can mix up replies',
    // The client for Bun, which has a `fetch` of its own, as browsers have.
    covers: (path) =>
      published(path) &&
      path !== 'src/upstream/fetch-client.ts' &&
      !path.startsWith('src/console/page/'),
    sample: `await fetch('http://upstream');`,
    find: nodes((node) => ts.isCallExpression(node) && node.expression.getText() === 'fetch'),
  },
  {
    sentence:
      'recognises an error by its shape: a host may have two builds of us, and Jest two Errors',
    // The Fastify plugin has to agree with Fastify, which uses `instanceof`.
    covers: (path) => published(path) && path !== 'src/errors.ts' && path !== 'adapters/fastify.ts',
    sample: 'const isOurs = failure instanceof StoreUnavailable;',
    find: nodes(
      (node) =>
        ts.isBinaryExpression(node) &&
        node.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword &&
        /(?:Error|StoreUnavailable|StoreCorrupt)$/.test(node.right.getText()),
    ),
  },
  {
    sentence: 'has classes only for errors and for private state that several methods share',
    covers: published,
    sample: 'class Service { name = 1; }',
    find: nodes((node) => ts.isClassLike(node) && !extendsError(node) && !hasPrivateState(node)),
  },
  {
    sentence:
      'has no getter in an object literal on the hot path: V8 gives each such object its own shape',
    covers: (path) => /^src\/(?:bytes|canonical|dialects|protocols|stages|upstream)\//.test(path),
    sample: 'const bytes = { get length() { return 0; } };',
    find: nodes((node) => ts.isGetAccessor(node) && ts.isObjectLiteralExpression(node.parent)),
  },
  {
    sentence: 'has no module-level state',
    covers: published,
    sample: 'let calls = 0;',
    find: nodes((node) => ts.isSourceFile(node.parent) && isState(node)),
  },
  {
    sentence: 'makes no HTML of text, where a page shows the texts of others',
    covers: (path) => path.startsWith('src/console/page/'),
    sample: 'node.innerHTML = text;',
    find: nodes((node) => ts.isIdentifier(node) && makesHtml.test(node.text)),
  },
  {
    sentence: 'has no TODO',
    covers: everywhere,
    sample: '// TODO: finish',
    find: comments(/\b(?:TODO|FIXME|XXX|HACK)\b/),
  },
  {
    sentence: 'suppresses no checker, except where a type test expects an error',
    covers: everywhere,
    sample: '// @ts-ignore because',
    find: (file) =>
      comments(file.fileName.startsWith('test/types/') ? silencers : expectError)(file),
  },
  {
    sentence: 'documents what an entry of the package exports, and the ports',
    covers: published,
    sample: '/** The file. */\nexport const limit = 1;',
    find: undocumentedExports,
  },
];

/** What the entries of the package re-export, by the file that declares it. */
const exportedByEntries: ReadonlyMap<string, readonly string[]> = sources()
  .filter(({ fileName }) => /^src\/(?:(?:.*\/)?index|ports)\.ts$/.test(fileName))
  .flatMap((entry) => entry.statements.filter(ts.isExportDeclaration))
  .reduce((all, { moduleSpecifier, exportClause, parent }) => {
    if (exportClause === undefined || !ts.isNamedExports(exportClause)) return all;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return all;
    const path = resolveImport(parent.getSourceFile().fileName, moduleSpecifier.text) ?? '';
    const names = exportClause.elements.map(
      ({ name, propertyName }) => (propertyName ?? name).text,
    );
    return all.set(path, [...(all.get(path) ?? []), ...names]);
  }, new Map<string, readonly string[]>());

/** Files that parse what a caller sent, which the scan of the body has limited, and why. */
const parsesCallersText: ReadonlySet<string> = new Set([
  // The text of tool results, limited by `checkNestedJson`; a detail of reasoning that the caller
  // sent back, limited by the size of the body.
  'src/dialects/gemini/client/write-messages.ts',
  'src/dialects/openai/client/write-messages.ts',
  // Reasoning that the caller sent back, limited to 1 MiB.
  'src/canonical/envelope.ts',
]);

const silencers =
  /biome-ignore|@ts-ignore|@ts-nocheck|eslint-disable|oxlint-disable|(?:v8|c8|istanbul) ignore/;
const expectError = new RegExp(`${silencers.source}|@ts-expect-error`);

function nodes(breaks: (node: ts.Node) => boolean): Rule['find'] {
  return (file) =>
    [...nodesOf(file)]
      .slice(1)
      .filter(breaks)
      .map((node) => placeOf(file, node.getStart()));
}

function comments(pattern: RegExp): Rule['find'] {
  return (file) =>
    commentsOf(file)
      .filter(({ pos, end }) => pattern.test(file.text.slice(pos, end)))
      .map(({ pos }) => placeOf(file, pos));
}

function commentsOf(file: ts.SourceFile): readonly ts.CommentRange[] {
  const found = new Map<number, ts.CommentRange>();
  for (const node of nodesOf(file)) {
    for (const range of [
      ...(ts.getLeadingCommentRanges(file.text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(file.text, node.getEnd()) ?? []),
    ]) {
      found.set(range.pos, range);
    }
  }
  return [...found.values()];
}

function longLines(file: ts.SourceFile): readonly string[] {
  return file.text
    .split('\n')
    .flatMap((line, index) => ([...line].length > 100 ? [`${file.fileName}:${index + 1}`] : []));
}

function isDefaultModifier(node: ts.Node): boolean {
  return node.kind === ts.SyntaxKind.DefaultKeyword && !ts.isDefaultClause(node.parent);
}

function isNamedEntryExport(node: ts.ExportDeclaration): boolean {
  return (
    /(?:^|\/)(?:index|src\/ports|adapters\/\w+)\.ts$/.test(node.getSourceFile().fileName) &&
    node.exportClause !== undefined
  );
}

function isAssertion(node: ts.Node): boolean {
  if (ts.isTypeAssertionExpression(node)) return true;
  return ts.isAsExpression(node) && node.type.getText() !== 'const';
}

/** Whether a class inherits nothing and keeps state in `#` members. */
function hasPrivateState(node: ts.ClassLikeDeclaration): boolean {
  const isPrivate = ({ name }: ts.ClassElement): boolean =>
    name !== undefined && ts.isPrivateIdentifier(name);
  const { heritageClauses = [], members } = node;
  const inherits = heritageClauses.some(({ token }) => token === ts.SyntaxKind.ExtendsKeyword);
  return !inherits && members.some(isPrivate);
}

function extendsError(node: ts.ClassLikeDeclaration): boolean {
  return (
    node.heritageClauses?.some((clause) => /^extends \w*Error$/.test(clause.getText())) ?? false
  );
}

/** A `let`, or an empty collection. */
function isState(node: ts.Node): boolean {
  if (!ts.isVariableStatement(node)) return false;
  if ((node.declarationList.flags & ts.NodeFlags.Const) === 0) return true;
  return node.declarationList.declarations.some(({ initializer }) =>
    /^(?:new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)|\[\])$/.test(initializer?.getText() ?? ''),
  );
}

/** The first doc comment belongs to the file, so the first statement needs a second one. */
function undocumentedExports(file: ts.SourceFile): readonly string[] {
  return file.statements
    .filter((statement, index) => {
      if (!exportedNames(statement).some((name) => isPublic(file.fileName, name))) return false;
      const docs = (ts.getLeadingCommentRanges(file.text, statement.getFullStart()) ?? []).filter(
        ({ pos }) => file.text.startsWith('/**', pos),
      );
      return docs.length < (index === 0 ? 2 : 1);
    })
    .map((statement) => placeOf(file, statement.getStart()));
}

function exportedNames(statement: ts.Statement): readonly string[] {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  if (modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) !== true) return [];
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  }
  return ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement)
    ? [statement.name?.text ?? '']
    : [];
}

function isPublic(path: string, name: string): boolean {
  return (
    /^(?:adapters|src\/ports)\//.test(path) ||
    (exportedByEntries.get(path)?.includes(name) ?? path === 'src/sample.ts')
  );
}

const names: ReadonlySet<string> = new Set([
  ...protocolNames,
  ...Object.keys(operations),
  ...dialectNames,
]);

/** What a stage needs to know of them is in their rows: a comparison would miss the next one. */
function comparesName(node: ts.Node): boolean {
  if (ts.isCaseClause(node)) return isName(node.expression);
  if (!ts.isBinaryExpression(node)) return false;
  const { operatorToken, left, right } = node;
  const isComparison =
    operatorToken.kind === ts.SyntaxKind.EqualsEqualsEqualsToken ||
    operatorToken.kind === ts.SyntaxKind.ExclamationEqualsEqualsToken;
  return isComparison && (isName(left) || isName(right));
}

function isName(node: ts.Node): boolean {
  return ts.isStringLiteral(node) && names.has(node.text);
}
