/** What `npm run generate` writes into the pages is what the code says. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { claudeTable } from './generated/claude-features.ts';
import { configTable } from './generated/config.ts';
import { eventsTable } from './generated/events.ts';
import { errorsTable, metricsTable, reasonsTable } from './generated/failures.ts';
import { optionsTable } from './generated/options.ts';
import { replySchemas } from './generated/replies.ts';
import { mappedFiles, wireMap } from './generated/wire-map.ts';
import { readText, repoFiles, root } from './sources.ts';

/** The sections of each page, by the names in their markers. */
const pages: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'docs/command.md': { configuration: configTable },
  'docs/errors.md': { errors: errorsTable },
  'docs/events.md': { events: eventsTable, reasons: reasonsTable },
  'docs/internals/wire-map.md': wireMap,
  'docs/metrics.md': { metrics: metricsTable },
  'docs/options.md': { options: optionsTable },
  'docs/platforms/vertex.md': { features: () => claudeTable('vertex') },
};

it('src/admin/http/reply-schemas.json', async () => {
  const path = join(root, 'src/admin/http/reply-schemas.json');

  await expect(replySchemas()).toMatchFileSnapshot(path);
});

it.each(Object.entries(pages))('%s', async (page, sections) => {
  const written = Object.entries(sections).reduce(
    (text, [name, section]) => withSection(text, name, section()),
    readText(page),
  );

  await expect(written).toMatchFileSnapshot(join(root, page));
});

it('the wire map has every file of a wire', () => {
  const files = repoFiles('src/dialects').filter((path) =>
    /^src\/dialects\/(?:anthropic|gemini|openai)\/.+\.ts$/.test(path),
  );

  expect(files).toContain('src/dialects/gemini/client/codec.ts');
  expect(files.filter((path) => !mappedFiles.has(path))).toEqual([]);
});

/** The page with the text between the markers of a section replaced. */
function withSection(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- generated: ${name} -->\n`, '<!-- end -->'];
  const at = page.indexOf(begin) + begin.length;
  if (!page.includes(begin) || !page.includes(end, at)) throw new Error(`No section: ${begin}`);
  return `${page.slice(0, at)}\n${text}\n${page.slice(page.indexOf(end, at))}`;
}
