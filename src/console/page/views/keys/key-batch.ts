/**
 * Issues a key for each row of a CSV file: all problems are shown first, and the secrets are
 * offered once, as a file. They stay in this page until its dialog is closed.
 */
import { csvLine } from '../../../../admin/csv.ts';
import {
  type KeyRow,
  keyColumns,
  maxBatch,
  type RowProblem,
  readKeyCsv,
} from '../../../../admin/keys/csv.ts';
import { failureOf, type IssuedBatch, type Model } from '../../api.ts';
import type { PageContext } from '../../context.ts';
import { FormProblem, type OpenDialog, openDialog } from '../../dialog.ts';
import { button, el, icon, refill } from '../../dom.ts';
import { textField } from '../../field.ts';
import { countText, nanosOf } from '../../format.ts';
import { confirmed } from './key-issue.ts';

/** Issuing thousands of keys takes longer than other requests. */
const batchMs = 300_000;

export function batchDialog(page: PageContext, done: () => void): void {
  const batch = textField('batch', 'Name of this batch', {
    required: true,
    maxlength: '120',
    value: `batch-${new Date(page.nowMs()).toISOString().slice(0, 16).replace(/\D/g, '')}`,
    hint:
      'A row without an id gets this name and its number. The same name again issues only what ' +
      'is missing, so an interrupted batch can be repeated.',
  });
  const file = csvInput(page);
  openDialog({
    title: 'Issue many keys',
    action: 'Issue the keys',
    isWide: true,
    content: [batch.node, file.node],
    run: async (dialog) => {
      const rows = file.rows();
      const keys = rows.map(({ line: _line, limitNanos, ...key }) => ({
        ...key,
        limitNanos: limitNanos === undefined ? undefined : String(limitNanos),
      }));
      try {
        const body = { batch: batch.value(), keys };
        const issued = await page.api.post<IssuedBatch>('/keys/batch', body, batchMs);
        done();
        return secretsStep(issued, rows, dialog);
      } catch (error) {
        const problems = failureOf(error)?.problems ?? [];
        if (problems.length === 0) throw error;
        file.refuse(
          problems.map(({ row = 1, field, message }) => ({
            line: rows[row - 1]?.line ?? row,
            sentence: `${field}: ${message}`,
          })),
        );
        throw new FormProblem('csv', 'No key was issued. Correct the rows above.');
      }
    },
  });
}

/** A file or pasted text, and what is wrong with it. */
function csvInput(page: PageContext) {
  const text = el('textarea', {
    id: 'field-csv',
    name: 'csv',
    rows: '6',
    spellcheck: 'false',
    'aria-describedby': 'csv-result',
    placeholder: example,
  });
  const upload = el('input', { type: 'file', id: 'field-file', accept: '.csv,text/csv' });
  const result = el('div', { id: 'csv-result', class: 'csv-result', role: 'status' });
  let served: ReadonlySet<string> | undefined;
  let rows: readonly KeyRow[] = [];
  const show = (problems: readonly RowProblem[]): void => {
    const groups = [...new Set(rows.map(({ group }) => group))];
    refill(result, problems.length > 0 ? problemList(problems) : summaryOf(rows), [
      groups
        .filter((group) => served?.has(group) === false)
        .map((group) => el('p', { class: 'problem' }, `No model serves the group ${group}.`)),
    ]);
  };
  void servedGroups(page).then((groups) => {
    served = groups;
  });
  const read = (): void => {
    const isEmpty = text.value.trim() === '';
    const read = isEmpty ? { rows: [], problems: [] } : readKeyCsv(text.value, input(page));
    rows = read.rows;
    show(read.problems);
  };
  text.addEventListener('input', read);
  upload.addEventListener('change', () => {
    void upload.files?.[0]?.text().then((content) => {
      text.value = content;
      read();
    });
  });
  return {
    node: [
      el('div', { class: 'field' }, [
        el('label', { for: 'field-file' }, 'A CSV file'),
        upload,
        el('label', { for: 'field-csv' }, 'or its text'),
        text,
        el('p', { class: 'hint' }, columnsText),
      ]),
      result,
    ],
    refuse: (problems: readonly RowProblem[]): void => show(problems),
    /** @throws FormProblem unless all rows can be issued */
    rows: (): readonly KeyRow[] => {
      if (rows.length > 0) return rows;
      throw new FormProblem(
        'csv',
        'Choose a file, or correct its rows, so that keys can be issued.',
      );
    },
  };
}

const example = 'id,group,limit,period,metadata.user\nada,staff,5,month,ada@example.com';

const columnsText =
  `Columns: ${keyColumns.join(', ')}. Only group is required, and a limit or an owner. Several ` +
  `models or rates in a cell have spaces between them. At most ${countText(maxBatch)} rows.`;

function input(page: PageContext) {
  const nanos = (text: string): bigint | undefined => {
    const found = nanosOf(text);
    return found === undefined || found.startsWith('-') ? undefined : BigInt(found);
  };
  return { nowMs: page.nowMs(), nanosOf: nanos };
}

/** Undefined if the models are not known. */
async function servedGroups({ api }: PageContext): Promise<ReadonlySet<string> | undefined> {
  try {
    const { data } = await api.get<{ readonly data: readonly Model[] }>('/channels');
    return new Set(data.flatMap(({ groups }) => groups));
  } catch {
    return undefined;
  }
}

function summaryOf(rows: readonly KeyRow[]): HTMLElement | undefined {
  if (rows.length === 0) return undefined;
  const keys = rows.length === 1 ? '1 key is' : `${countText(rows.length)} keys are`;
  return el('p', { class: 'good' }, icon('ok'), ` ${keys} ready to be issued.`);
}

function keysText(count: number): string {
  return count === 1 ? '1 key was' : `${countText(count)} keys were`;
}

function problemList(problems: readonly RowProblem[]): HTMLElement {
  const count = problems.length === 1 ? '1 problem' : `${countText(problems.length)} problems`;
  return el('div', { class: 'csv-problems', tabindex: '0', role: 'group', 'aria-label': count }, [
    el('p', { class: 'problem' }, `${count}: nothing can be issued yet.`),
    el('ul', {}, [
      problems.map(({ line, sentence }) => el('li', {}, el('b', {}, `Line ${line} `), sentence)),
    ]),
  ]);
}

function secretsStep(batch: IssuedBatch, rows: readonly KeyRow[], dialog: OpenDialog): HTMLElement {
  const { issued, existed, failed, problem, warnings, data } = batch;
  const save = (): void => {
    const lines = data.map(({ row, id, outcome, secret }) =>
      csvLine([rows[row - 1]?.line, id, outcome, secret ?? undefined]),
    );
    saveFile(
      `${batch.batch}-secrets.csv`,
      csvLine(['line', 'id', 'outcome', 'secret']) + lines.join(''),
    );
  };
  const sentences = [
    `${keysText(issued)} issued. Their secrets are in this file, and nowhere else:`,
    existed === 0
      ? undefined
      : `${countText(existed)} existed and were left as they are. Their rows have no secret: if ` +
        'it was lost, remove such a key and repeat the batch, or rotate it.',
    failed === 0
      ? undefined
      : `${countText(failed)} were not issued: ${problem} Repeat the batch under the same name.`,
    ...warnings,
  ];
  return el('div', { class: 'form' }, [
    sentences.map((text, index) =>
      text === undefined ? undefined : el('p', { class: index === 0 ? '' : 'problem' }, text),
    ),
    el('p', {}, button([icon('download'), 'Download the secrets'], save, { class: 'button main' })),
    ...confirmed('I have stored the file', dialog),
  ]);
}

/** The text is handed to the browser, and kept by nothing of the page. */
function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(url);
}
