// suite: slow
/** The code in docs/hosts/nestjs.md is from examples/nest, which test/package compiles and runs. */
import { expect, it } from 'vitest';
import { readText, repoFiles } from '../house/sources.ts';

const sources = repoFiles()
  .filter((path) => path.startsWith('examples/nest/'))
  .map(readText);

it('each block is a part of an example', () => {
  const blocks = [...readText('docs/hosts/nestjs.md').matchAll(/^```typescript\n(.*?)^```$/gms)];

  expect(blocks).toHaveLength(3);
  for (const [, code = ''] of blocks) {
    expect(sources.filter((text) => text.includes(code))).not.toEqual([]);
  }
});
