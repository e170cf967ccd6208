/** What a browser loads of the console, and what the package owes to those whose code is in it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { consolePages } from '../../console-page.ts';

const texts = Object.values(consolePages()).map((json) => String(JSON.parse(json)));

describe('the console', () => {
  it('is at most 90 kB of scripts and styles, compressed', () => {
    const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0);

    expect(texts.every((text) => text.length > 50)).toBe(true);
    expect(bytes).toBeLessThanOrEqual(90_000);
  });

  it('loads nothing by itself from anywhere: no other origin, no map, no inline source', () => {
    for (const text of texts) {
      expect(text).not.toMatch(/sourceMappingURL|@import|\beval\(|new Function\(/);
      expect(text).not.toMatch(/(?:url\(|src=|href=)["']?https?:/);
    }
  });

  it.each(['js', 'cjs'])('is in the build (.%s) with the licence of uPlot', (extension) => {
    const path = fileURLToPath(new URL(`../../dist/console.${extension}`, import.meta.url));
    const built = readFileSync(path, 'utf8');

    expect(built).toContain('Copyright (c) 2022 Leon Sorokin');
    expect(built).toContain('Permission is hereby granted, free of charge');
    expect(built).not.toContain('node_modules/');
  });
});
