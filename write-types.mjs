/**
 * Writes the OpenAPI document of the admin interface, and the type declarations of the package,
 * after tsup: TypeScript emits one file for each source file into `dist/types`, each subpath gets
 * an entry that leads there, and what no entry reaches is removed.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const { files } = JSON.parse(readFileSync('tsconfig.types.json', 'utf8'));

const { adminOpenApi } = await import('./dist/admin.js');
writeFileSync('dist/admin-openapi.json', `${JSON.stringify(await adminOpenApi(), null, 2)}\n`);

execFileSync('node', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], {
  stdio: 'inherit',
});

// They are CommonJS, because an ES module may take its types from there, but not the reverse before
// TypeScript 5.8.
mkdirSync('dist/types', { recursive: true });
writeFileSync('dist/types/package.json', '{ "type": "commonjs" }\n');
for (const source of files) {
  const declarations = `export * from './types/${source.replace(/\.ts$/, '.js')}';\n`;
  writeFileSync(`dist/${subpathOf(source)}.d.ts`, declarations);
  writeFileSync(`dist/${subpathOf(source)}.d.cts`, declarations);
}

const reachable = closure(files.map((source) => `dist/types/${declarationOf(source)}`));
for (const path of readdirSync('dist/types', { recursive: true, encoding: 'utf8' })) {
  const declaration = join('dist/types', path);
  if (declaration.endsWith('.d.ts') && !reachable.has(declaration)) rmSync(declaration);
}

/** `src/index.ts` is `index`, `src/stores/redis/index.ts` is `redis`, `adapters/koa.ts` is `koa`. */
function subpathOf(source) {
  const names = source.replace(/(?:\/index)?\.ts$/, '').split('/');
  return names.at(-1) === 'src' ? 'index' : names.at(-1);
}

/** The declarations and all that they import, directly or not. */
function closure(entries) {
  const found = new Set(entries);
  for (const path of found) {
    for (const [, name] of readFileSync(path, 'utf8').matchAll(
      /(?:from|import\()\s*'(\.[^']+)'/g,
    )) {
      found.add(join(dirname(path), declarationOf(name)));
    }
  }
  return found;
}

function declarationOf(source) {
  return source.replace(/\.ts$/, '.d.ts');
}
