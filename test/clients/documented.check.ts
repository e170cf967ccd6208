/**
 * The examples of the pages on APIs with real clients, as they stand there, against a gateway with
 * the models of the same page.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { nodeAdapter } from 'tollgate/node';
import { expect, it, onTestFinished } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { createGateway } from '../../src/gateway.ts';
import { issueKey } from '../../src/issue-key.ts';
import type { Model } from '../../src/ports/models/catalog.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import type { FakeUpstream } from '../../src/testing/index.ts';
import { readText } from '../house/sources.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { recordLog } from '../support/record-log.ts';
import { closed, listening } from '../support/servers.ts';

const address = 'http://localhost:3000';
/** What a page shows of the replies. */
const pages = [
  ['docs/responses.md', /Hello|Hi\b/, 4],
  ['docs/messages.md', /Hello|Hi\b/, 3],
  ['docs/embeddings.md', /0\.\d{3}/, 4],
] as const;

it.each(pages)('%s has its examples', (page, _shown, count) => {
  expect(examplesOf(page)).toHaveLength(count);
});

it.each(
  pages.flatMap(([page, shown]) =>
    examplesOf(page).map((code, index) => [page, index + 1, code, shown] as const),
  ),
)('%s, example %i, is answered', async (page, _at, code, shown) => {
  const upstream = await startStrictUpstream();
  const log = recordLog();
  const issued = issueKey({ group: 'staff', limitNanos: 1_000_000_000n });
  const gateway = createGateway({
    keys: memoryKeyStore({ keys: [issued] }),
    quota: memoryQuotaStore(),
    catalog: staticCatalog(await modelsOf(page, upstream)),
    usage: { record: log.add, close: async () => {} },
  });
  const server = createServer(nodeAdapter(gateway));
  const origin = await listening(server);
  onTestFinished(async () => {
    await closed(server);
    await gateway.close({ drainMs: 1 });
    await upstream.close();
  });

  const results = await imported(
    withResults(code).replaceAll(address, origin).replaceAll('tg_…', issued.secret),
  );

  expect(inspect(Object.values(results), { depth: 9, getters: true })).toMatch(shown);
  expect(await log.next()).toMatchObject({ outcome: 'complete', status: 200 });
});

/** The code blocks of a page. */
function blocksOf(page: string): readonly string[] {
  return [...readText(page).matchAll(/^```(?:js|ts)\n(.*?)^```$/gms)].map(([, code = '']) => code);
}

/** The blocks that call the gateway. */
function examplesOf(page: string): readonly string[] {
  return blocksOf(page).filter((code) => code.includes(address));
}

/** The models of a page, with the fake upstream in place of the providers. */
async function modelsOf(page: string, upstream: FakeUpstream): Promise<readonly Model[]> {
  const code = blocksOf(page).find((block) => block.includes('export const models'));
  if (code === undefined) throw new Error(`${page} has no models.`);
  const { models }: { readonly models: readonly Model[] } = await imported(
    code
      // The credentials are abbreviated.
      .replaceAll('…', '0')
      .replaceAll('https://api.openai.com/v1', upstream.openaiBaseUrl)
      .replaceAll('https://api.anthropic.com/v1', upstream.anthropicBaseUrl)
      .replaceAll('https://generativelanguage.googleapis.com/v1beta', upstream.geminiBaseUrl),
  );
  return models;
}

/** The code, and its awaited results as exports. */
function withResults(code: string): string {
  const awaited = [...code.matchAll(/^const (?:\{ (\w+) \}|(\w+)) = await/gm)];
  const names = awaited.map(([, member, name]) => member ?? name);
  return `${code}\nexport { ${names.join(', ')} };\n`;
}

/** Runs code as a module of this folder, whose packages it imports. */
async function imported<Exports extends object>(code: string): Promise<Exports> {
  const parent = join(import.meta.dirname, '.build');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'example-'));
  try {
    const path = join(folder, 'example.ts');
    writeFileSync(path, code);
    return await import(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
