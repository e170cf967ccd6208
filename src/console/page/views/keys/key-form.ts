/**
 * The fields that state what a key may do, for a new key and for an existing one. What the page can
 * check itself is checked before the form is sent.
 */
import {
  rateLineOf,
  rateLinesOf,
  ratesOf,
  rateText,
  rateTextForm,
} from '../../../../admin/keys/texts.ts';
import type { Balance, Key, Model, OwnerPage } from '../../api.ts';
import type { PageContext } from '../../context.ts';
import { FormProblem } from '../../dialog.ts';
import { button, el, icon, refill } from '../../dom.ts';
import { choiceField, type Field, textField } from '../../field.ts';

/** The rights of a key, as the form shows them. */
export interface Rights
  extends Pick<
    Key,
    'group' | 'models' | 'rates' | 'maxConcurrentCalls' | 'expiresAtMs' | 'metadata'
  > {
  readonly owner: string | null;
}

export const noRights: Rights = {
  group: '',
  models: null,
  owner: null,
  rates: null,
  maxConcurrentCalls: null,
  expiresAtMs: null,
  metadata: {},
};

type Rates = NonNullable<Rights['rates']>;

export function rightsForm(page: PageContext, known: Rights) {
  const group = textField('group', 'Group', {
    required: true,
    maxlength: '256',
    list: 'groups',
    value: known.group,
  });
  const owner = textField('owner', 'Owner', {
    maxlength: '120',
    list: 'owners',
    value: known.owner ?? '',
    placeholder: 'none',
  });
  const expires = expiryField(known.expiresAtMs);
  const concurrent = textField('maxConcurrentCalls', 'Calls at once', {
    inputmode: 'numeric',
    placeholder: 'any number',
    value: known.maxConcurrentCalls === null ? '' : String(known.maxConcurrentCalls),
  });
  const models = modelChoice(known.models ?? [], group);
  const rates = rateFields(known.rates ?? []);
  const labels = labelFields(known.metadata);
  void offerModels(page, group, models);
  void offerOwners(page, owner);
  return {
    node: [
      el('div', { class: 'field-row' }, group.node, owner.node),
      models.node,
      rates.node,
      el('div', { class: 'field-row' }, expires.node, concurrent.node),
      labels.node,
    ],
    /** @throws FormProblem that names the field */
    rights: (): Rights => ({
      group: group.value(),
      owner: owner.value() === '' ? null : owner.value(),
      models: models.value(),
      rates: rates.value(),
      maxConcurrentCalls: countOf(concurrent, 'maxConcurrentCalls'),
      expiresAtMs: expires.value(page.nowMs()),
      metadata: labels.value(),
    }),
    /** A model that the key may use, for an example. */
    model: () => models.value()?.[0] ?? models.offered()[0],
  };
}

function countOf(field: Field, name: string): number | null {
  const text = field.value();
  if (text === '') return null;
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new FormProblem(name, 'Write a whole number of 1 or more.');
}

const dayMs = 86_400_000;

/** The last day of a key, which is valid until its end. An expiry that stays keeps its hour. */
function expiryField(knownMs: number | null) {
  const known = knownMs === null ? '' : new Date(knownMs - 1).toISOString().slice(0, 10);
  const field = textField('expiresAtMs', 'Last day, UTC', { type: 'date', value: known });
  return {
    ...field,
    value: (nowMs: number): number | null => {
      const text = field.value();
      if (text === known) return knownMs;
      if (text === '') return null;
      const endMs = Date.parse(text) + dayMs;
      if (endMs > nowMs) return endMs;
      throw new FormProblem('expiresAtMs', 'Choose today or a later day.');
    },
  };
}

/** The models of the group, and those that are chosen already; none chosen means all. */
function modelChoice(chosen: readonly string[], group: Field) {
  const list = el('div', { class: 'model-options' });
  const summary = el('summary', {});
  const warning = el('p', { class: 'problem', role: 'status' });
  let all: readonly Model[] | undefined;
  let wanted: ReadonlySet<string> = new Set(chosen);
  const offered = (): readonly string[] =>
    (all ?? [])
      .filter(({ groups }) => groups.includes(group.value()))
      .map((model) => model.modelId);
  const title = (): void => {
    const text = wanted.size === 0 ? 'all of the group' : [...wanted].join(', ');
    summary.textContent = `Models: ${text}`;
  };
  const show = (): void => {
    const served = offered();
    refill(
      list,
      [...new Set([...served, ...wanted])].map((id) => option(id, served.includes(id))),
    );
    const isUnserved = all !== undefined && group.value() !== '' && served.length === 0;
    warning.textContent = isUnserved ? `No model serves the group ${group.value()}.` : '';
    title();
  };
  const option = (id: string, isServed: boolean): HTMLElement => {
    const input = el('input', { type: 'checkbox', checked: wanted.has(id), 'data-focus': id });
    input.addEventListener('change', () => {
      wanted = new Set([...wanted].filter((other) => other !== id).concat(input.checked ? id : []));
      title();
    });
    const note = isServed || all === undefined ? undefined : ' – not a model of this group';
    return el('label', { class: 'check' }, input, el('span', {}, id, note));
  };
  group.input.addEventListener('input', show);
  show();
  return {
    node: el('div', { class: 'field' }, warning, el('details', { class: 'more' }, summary, list)),
    offered,
    value: () => (wanted.size === 0 ? null : [...wanted]),
    offer: (models: readonly Model[]): void => {
      all = models;
      show();
    },
  };
}

async function offerModels(
  { api }: PageContext,
  { node, input }: Field,
  models: ReturnType<typeof modelChoice>,
): Promise<void> {
  try {
    const { data } = await api.get<{ readonly data: readonly Model[] }>('/channels');
    const groups = [...new Set(data.flatMap((model) => model.groups))];
    node.append(offerOf('groups', groups));
    if (input.value === '') input.value = groups[0] ?? '';
    models.offer(data);
  } catch {
    // The fields work without an offer.
  }
}

async function offerOwners({ api, session }: PageContext, { node }: Field): Promise<void> {
  if (!session.capabilities.listOwners) return;
  try {
    const { data } = await api.get<OwnerPage>('/owners');
    node.append(
      offerOf(
        'owners',
        data.map(({ id }) => id),
      ),
    );
  } catch {
    // As above.
  }
}

function offerOf(id: string, values: readonly string[]): HTMLElement {
  return el('datalist', { id }, [values.map((value) => el('option', { value }))]);
}

const units = ['calls', 'tokens'] as const;
const periods = ['minute', 'hour', 'day'] as const;

type Lines = ReturnType<typeof rateLinesOf>;

function isPlain({ model, subject }: Lines[number]): boolean {
  return model === undefined && subject === undefined;
}

/** A number for each unit and period, which limits all models together. */
function rateCells(lines: Lines) {
  return units.flatMap((of) =>
    periods.map((per) => {
      const line = lines.find((one) => isPlain(one) && one.of === of && one.per === per);
      const name = `rate-${of}-${per}`;
      const input = el('input', {
        name,
        inputmode: 'numeric',
        'aria-label': `${of} per ${per}`,
        placeholder: '–',
        autocomplete: 'off',
        value: line === undefined ? '' : String(line.amount),
      });
      return { of, per, name, input };
    }),
  );
}

/** Limits of all models as a grid of numbers, and the others as text. */
export function rateFields(known: Rates) {
  const lines = rateLinesOf(known);
  const cells = rateCells(lines);
  const others = textField('rates', 'Limits of single models', {
    value: lines
      .filter((line) => !isPlain(line))
      .map(rateText)
      .join(' '),
    placeholder: 'MODEL:calls=10/minute MODEL:tokens=50000/day',
  });
  const rows = units.map((of) =>
    el('tr', {}, [
      el('th', { scope: 'row' }, of),
      cells.filter((cell) => cell.of === of).map(({ input }) => el('td', {}, input)),
    ]),
  );
  const head = ['at most', ...periods.map((per) => `per ${per}`)];
  return {
    node: el('details', { class: 'more', open: lines.length > 0 }, [
      el('summary', {}, 'Rate limits'),
      el('table', { class: 'rates' }, [
        el('thead', {}, el('tr', {}, [head.map((text) => el('th', { scope: 'col' }, text))])),
        el('tbody', {}, rows),
      ]),
      others.node,
    ]),
    /** @throws FormProblem that names the field */
    value: (): Rates | null => {
      const plain = cells.flatMap(({ of, per, name, input }) => {
        const text = input.value.trim();
        if (text === '') return [];
        const line = rateLineOf(`${of}=${text}/${per}`);
        if (line !== undefined) return [line];
        throw new FormProblem(name, 'Write a whole number of 1 or more, without separators.');
      });
      const further = others
        .value()
        .split(/\s+/)
        .filter(Boolean)
        .map((text) => {
          const line = rateLineOf(text);
          if (line !== undefined) return line;
          throw new FormProblem('rates', `Each must be ${rateTextForm}.`);
        });
      const all = ratesOf([...plain, ...further]);
      return all.length === 0 ? null : all;
    },
  };
}

/** Rows of names and texts; a row without a name or a text is left out. */
export function labelFields(known: Readonly<Record<string, string>>) {
  const list = el('div', { class: 'labels' });
  const rows = new Set<{ readonly name: HTMLInputElement; readonly text: HTMLInputElement }>();
  const add = (name = '', text = ''): HTMLInputElement => {
    const row = {
      name: el('input', { 'aria-label': 'Name of a label', maxlength: '128', value: name }),
      text: el('input', { 'aria-label': 'Text of a label', maxlength: '512', value: text }),
    };
    rows.add(row);
    const node = el('div', { class: 'label-row' }, row.name, row.text);
    const remove = (): void => {
      rows.delete(row);
      node.remove();
    };
    node.append(
      button(icon('close'), remove, { class: 'quiet', 'aria-label': 'Remove the label' }),
    );
    list.append(node);
    return row.name;
  };
  for (const [name, text] of Object.entries(known)) add(name, text);
  const more = button([icon('plus'), 'Add a label'], () => add().focus(), { class: 'quiet' });
  return {
    node: el('fieldset', { class: 'radios' }, el('legend', {}, 'Metadata'), list, more),
    value: (): Readonly<Record<string, string>> =>
      Object.fromEntries(
        [...rows]
          .map(({ name, text }) => [name.value.trim(), text.value.trim()] as const)
          .filter(([name, text]) => name !== '' && text !== ''),
      ),
  };
}

/** The period of a limit and, for months, the day on which they begin. */
export function periodFields(known?: Pick<Balance, 'period' | 'anchorDay'>) {
  const period = choiceField(
    'period',
    'The limit is for',
    [
      ['month', 'each month, UTC'],
      ['week', 'each week, from Monday, UTC'],
      ['day', 'each day, UTC'],
      ['total', 'all time'],
    ],
    known?.period,
  );
  const anchor = textField('anchorDay', 'Months begin on day', {
    inputmode: 'numeric',
    placeholder: '1',
    value: known?.anchorDay === null || known === undefined ? '' : String(known.anchorDay),
  });
  const show = (): void => {
    anchor.node.hidden = period.value() !== 'month';
  };
  period.input.addEventListener('change', show);
  show();
  return {
    node: el('div', { class: 'field-row' }, period.node, anchor.node),
    /** @throws FormProblem that names the field */
    value: () => {
      const text = period.value() === 'month' ? anchor.value() : '';
      if (text !== '' && !/^(?:[1-9]|[12]\d|3[01])$/.test(text)) {
        throw new FormProblem('anchorDay', 'Write a day of the month, 1 to 31.');
      }
      return { period: period.value(), anchorDay: text === '' ? null : Number(text) };
    },
  };
}

/** A new record has no member to remove. */
export function withoutNulls(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
