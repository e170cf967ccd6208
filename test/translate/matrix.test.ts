// suite: quick
/**
 * What becomes of every feature between every protocol and every dialect, found out by calling; the
 * table in docs/translation.md is the expectation.
 */
import { describe, expect, it } from 'vitest';
import {
  columns,
  isRelay,
  messagesColumns,
  messagesReplyColumns,
  responsesColumns,
} from './matrix/columns.ts';
import { messageFeatures } from './matrix/messages.ts';
import { messagesFeatures } from './matrix/messages-requests.ts';
import { replyCell, requestCell } from './matrix/outcome.ts';
import { replyFeatures } from './matrix/replies.ts';
import { responsesFeatures } from './matrix/responses-requests.ts';
import { settingFeatures } from './matrix/settings.ts';
import { signatureCell, signatureFeature } from './matrix/signatures.ts';
import { published, type Row, shortTable } from './matrix/table.ts';
import { toolFeatures } from './matrix/tools.ts';

const requestFeatures = [...messageFeatures, ...toolFeatures, ...settingFeatures];
const isRelayed = columns.map(isRelay);
/** The page has the columns that translate: the others are relays. */
const translated = ({ title, cells }: Row): Row => ({
  title,
  cells: cells.filter((_cell, index) => isRelayed[index] !== true),
});
const titles = columns.filter((column) => !isRelay(column)).map(({ title }) => title);

const requestRows: readonly Row[] = await Promise.all(
  requestFeatures.map(async (feature) => ({
    title: feature.title,
    cells: await Promise.all(columns.map((column) => requestCell(feature, column))),
  })),
);
const responsesRows: readonly Row[] = await Promise.all(
  responsesFeatures.map(async (feature) => ({
    title: feature.title,
    cells: await Promise.all(responsesColumns.map((column) => requestCell(feature, column))),
  })),
);
const messagesRows: readonly Row[] = await Promise.all(
  messagesFeatures.map(async (feature) => ({
    title: feature.title,
    cells: await Promise.all(messagesColumns.map((column) => requestCell(feature, column))),
  })),
);
const messagesReplyRows: readonly Row[] = await Promise.all(
  replyFeatures.map(async (feature) => ({
    title: feature.title,
    cells: await Promise.all(messagesReplyColumns.map((column) => replyCell(feature, column))),
  })),
);
const signatureRow = {
  title: signatureFeature,
  cells: await Promise.all(columns.map(signatureCell)),
};
const replyRows: readonly Row[] = [
  ...(await Promise.all(
    replyFeatures.map(async (feature) => ({
      title: feature.title,
      cells: await Promise.all(columns.map((column) => replyCell(feature, column))),
    })),
  )),
  signatureRow,
];

describe('the matrix', () => {
  it('has no cell in which something is lost silently, or listed although not requested', () => {
    const rows = [requestRows, replyRows, responsesRows, messagesRows, messagesReplyRows];
    const cells = rows.flat().flatMap((row) => row.cells);

    expect(cells.filter((cell) => /LOST|CHANGED|FAILED|LISTED/.test(cell))).toEqual([]);
  });

  it('changes nothing in a relay but errors', () => {
    const cells = [...requestRows, ...replyRows].flatMap((row) =>
      row.cells.filter((_cell, index) => isRelayed[index]),
    );

    expect(cells.filter((cell) => !['relayed', 'carried', '—'].includes(cell))).toEqual([]);
  });

  it('is the one in docs/translation.md', () => {
    const tables = [
      shortTable('request', titles, requestRows.map(translated)),
      shortTable('reply', titles, replyRows.map(translated)),
    ];
    const whole = tables.join('\n\n');

    expect(published('docs/translation.md'), `Paste this:\n${whole}\n`).toBe(whole);
  });

  it('of Responses requests is the one in docs/translation.md', () => {
    const titlesOf = responsesColumns.map(({ title }) => title);
    const whole = shortTable('request', titlesOf, responsesRows);

    expect(published('docs/translation.md', 'responses matrix'), `Paste this:\n${whole}\n`).toBe(
      whole,
    );
  });

  it('of Messages requests is the one in docs/translation.md', () => {
    const titlesOf = messagesColumns.map(({ title }) => title);
    const whole = shortTable('request', titlesOf, messagesRows);

    expect(published('docs/translation.md', 'messages matrix'), `Paste this:\n${whole}\n`).toBe(
      whole,
    );
  });

  it('of Messages replies is the one in docs/translation.md', () => {
    const titlesOf = messagesReplyColumns.map(({ title }) => title);
    const whole = shortTable('reply', titlesOf, messagesReplyRows);

    expect(published('docs/translation.md', 'messages replies'), `Paste this:\n${whole}\n`).toBe(
      whole,
    );
  });
});
