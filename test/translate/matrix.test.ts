/**
 * What becomes of every feature between every protocol and every dialect, found out by calling; the
 * tables in the documentation are the expectation.
 */
import { describe, expect, it } from 'vitest';
import { columns, isRelay } from './matrix/columns.ts';
import { messageFeatures } from './matrix/messages.ts';
import { replyCell, requestCell } from './matrix/outcome.ts';
import { replyFeatures } from './matrix/replies.ts';
import { settingFeatures } from './matrix/settings.ts';
import { signatureCell, signatureFeature } from './matrix/signatures.ts';
import { published, type Row, table } from './matrix/table.ts';
import { toolFeatures } from './matrix/tools.ts';

const requestFeatures = [...messageFeatures, ...toolFeatures, ...settingFeatures];
const titles = columns.map(({ title }) => title);

const requestRows: readonly (Row & { readonly brief: boolean })[] = await Promise.all(
  requestFeatures.map(async (feature) => ({
    title: feature.title,
    brief: feature.brief === true,
    cells: await Promise.all(columns.map((column) => requestCell(feature, column))),
  })),
);
const signatureRow = {
  title: signatureFeature,
  brief: true,
  cells: await Promise.all(columns.map(signatureCell)),
};
const replyRows: readonly (Row & { readonly brief: boolean })[] = [
  ...(await Promise.all(
    replyFeatures.map(async (feature) => ({
      title: feature.title,
      brief: feature.brief === true,
      cells: await Promise.all(columns.map((column) => replyCell(feature, column))),
    })),
  )),
  signatureRow,
];

/** The translating columns of the rows that matter most. */
function brief(corner: string, rows: typeof requestRows): string {
  const isTranslated = columns.map((column) => !isRelay(column));
  return table(
    corner,
    titles.filter((_, index) => isTranslated[index]),
    rows
      .filter((row) => row.brief)
      .map(({ title, cells }) => ({
        title,
        cells: cells.filter((_, index) => isTranslated[index]),
      })),
  );
}

describe('the matrix', () => {
  it('has no cell in which something is lost in silence, or listed that was not asked for', () => {
    const cells = [...requestRows, ...replyRows].flatMap((row) => row.cells);

    expect(cells.filter((cell) => /LOST|CHANGED|FAILED|LISTED/.test(cell))).toEqual([]);
  });

  it('is the one in docs/translation.md', () => {
    const tables = [table('request', titles, requestRows), table('reply', titles, replyRows)];
    const whole = tables.join('\n\n');

    expect(published('docs/translation.md'), `Paste this:\n${whole}\n`).toBe(whole);
  });

  it('is the one in the README, without the relays and the lesser rows', () => {
    const short = `${brief('request', requestRows)}\n\n${brief('reply', replyRows)}`;

    expect(published('README.md'), `Paste this:\n${short}\n`).toBe(short);
  });
});
