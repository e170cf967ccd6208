// suite: slow
/** The example's file is valid, may change while the gateway runs, and its errors are logged. */
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { fileGateway, lineWriter } from '../../examples/file-catalog.ts';
import { memoryKeyStore } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/index.ts';
import { root } from '../house/sources.ts';

it('examples/file-catalog serves its models, and accepts valid changes', async () => {
  vi.stubEnv('OPENAI_API_KEY', 'sk-first');
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-example-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'models.json');
  await copyFile(join(root, 'examples/models.json'), file);
  const lines: string[] = [];
  const clock = fakeClock();
  const { gateway, catalog } = await fileGateway(memoryKeyStore(), {
    path: file,
    clock,
    credentials: (name) => `sk-${name}`,
    onEvent: lineWriter((line) => lines.push(line)),
  });
  const logged = async (count: number): Promise<void> => {
    while (lines.length < count) {
      clock.advance(2_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const text = await readFile(file, 'utf8');

  const before = catalog.find('gpt-4o-mini');
  await writeFile(file, text.replace('"per": "token"', '"per": "word"'));
  await logged(1);
  await writeFile(file, text.replace('"gpt-4o-mini"', '"gpt-5-mini"'));
  await logged(2);
  const after = catalog.find('gpt-5-mini');
  await gateway.close();
  catalog.close();

  expect(before?.price).toMatchObject({ rates: { output: 600_000_000n } });
  expect(before?.channels.map(({ credential }) => credential)).toEqual([
    'sk-first',
    'sk-openai/second',
  ]);
  expect(lines).toEqual([
    'jsonFileCatalog: models.json: models[0].price.per ' +
      "must be 'token', 'image' or 'free'. The previous models stay in use.",
    '1 models from models.json.',
  ]);
  expect(after?.id).toBe('gpt-5-mini');
});
