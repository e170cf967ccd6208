/**
 * The search and the filters of calls. They are in the URL, so that a link to the list can be
 * shared.
 */
import type { PageContext } from '../context.ts';
import { el, link, refill } from '../dom.ts';
import type { Route } from '../route.ts';
import { searchField } from '../search-bar.ts';
import { outcomeNames, outcomeWord } from './call-outcome.ts';

/** The row above the list. */
export interface Filters {
  readonly node: HTMLElement;
  show(route: Route): void;
}

const texts = [
  { name: 'key', label: 'Key' },
  { name: 'model', label: 'Model' },
  { name: 'channel', label: 'Channel' },
  { name: 'code', label: 'Refusal code' },
] as const;

/** Creates the row. */
export function callFilters(page: PageContext): Filters {
  const fields = texts.map(({ name, label }) => ({ name, field: textField(name, label) }));
  const outcome = outcomeField();
  const clear = el('span', { class: 'clear' });
  const apply = (): void => {
    const params = Object.fromEntries(fields.map(({ name, field }) => [name, field.value.trim()]));
    page.go({ view: 'calls', params: { ...params, outcome: outcome.value } });
  };
  for (const field of [outcome, ...fields.map(({ field }) => field)]) {
    field.addEventListener('change', apply);
  }
  const labelled = fields.map(({ field }, index) => labelFor(texts[index]?.label ?? '', field));
  return {
    node: el(
      'div',
      { class: 'filters' },
      searchForm(page),
      labelFor('Outcome', outcome),
      labelled,
      clear,
    ),
    show: ({ params }) => {
      for (const { name, field } of fields) field.value = params[name] ?? '';
      outcome.value = params.outcome ?? '';
      const isFiltered = Object.values(params).some((value) => value !== '');
      const all = link(page.href({ view: 'calls' }), 'Clear', { 'data-focus': 'clear' });
      refill(clear, isFiltered ? all : undefined);
    },
  };
}

/** Opens one request, wherever it is in the log. */
function searchForm(page: PageContext): HTMLElement {
  const { node, input, onSearch } = searchField('Find a request by its id', 'Request id');
  onSearch(() => {
    const id = input.value.trim();
    if (id !== '') page.go({ view: 'calls', id, params: page.route().params });
  });
  return node;
}

function textField(name: string, label: string): HTMLInputElement {
  return el('input', {
    id: `filter-${name}`,
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: '256',
    placeholder: label === 'Refusal code' ? 'any code' : `any ${label.toLowerCase()}`,
  });
}

function outcomeField(): HTMLSelectElement {
  return el(
    'select',
    { id: 'filter-outcome' },
    el('option', { value: '' }, 'any outcome'),
    outcomeNames.map((name) => el('option', { value: name }, outcomeWord(name))),
  );
}

function labelFor(label: string, field: HTMLElement): HTMLElement {
  return el(
    'span',
    { class: 'filter' },
    el('label', { for: field.id, class: 'only-read' }, label),
    field,
  );
}
