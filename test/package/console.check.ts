/** What a browser loads of the console. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { consolePages } from '../../console-page.ts';

const pages = Object.entries(consolePages()).map(
  ([name, json]) => [name, String(JSON.parse(json))] as const,
);
const texts = pages.map(([, text]) => text);

describe('the console', () => {
  it('is at most 90 kB of scripts and styles, compressed', () => {
    const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0);

    expect(texts.every((text) => text.length > 50)).toBe(true);
    expect(bytes).toBeLessThanOrEqual(90_000);
  });

  it('has a script of at most 60 kB for its page, compressed', () => {
    const script = new Map(pages).get('CONSOLE_SCRIPT') ?? '';

    expect(script.length).toBeGreaterThan(50_000);
    expect(gzipSync(script, { level: 9 }).length).toBeLessThanOrEqual(60_000);
  });

  it('loads nothing by itself from anywhere: no other origin, no map, no inline source', () => {
    for (const text of texts) {
      expect(text).not.toMatch(/sourceMappingURL|@import|\beval\(|new Function\(/);
      expect(text).not.toMatch(/(?:url\(|src=|href=)["']?https?:/);
    }
  });

  it.each(['js', 'cjs'])('is in the build (.%s)', (extension) => {
    const path = fileURLToPath(new URL(`../../dist/console.${extension}`, import.meta.url));

    expect(readFileSync(path, 'utf8')).not.toContain('node_modules/');
  });
});
