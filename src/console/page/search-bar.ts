/** A search field and choices, whose values are in the URL. */
import type { PageContext } from './context.ts';
import { el, icon } from './dom.ts';
import type { Route, ViewName } from './route.ts';

export interface SearchBarInput {
  readonly view: ViewName;
  readonly label: string;
  readonly placeholder: string;
  readonly choices?: readonly {
    readonly name: string;
    readonly label: string;
    readonly options: readonly (readonly [value: string, text: string])[];
  }[];
}

export interface SearchBar {
  readonly node: HTMLElement;
  show(route: Route): void;
}

/** Creates the bar: the text is the parameter `q`, each choice one of its name. */
export function searchBar(page: PageContext, input: SearchBarInput): SearchBar {
  const { view, label, placeholder, choices = [] } = input;
  const field = searchField(label, placeholder);
  const selects = choices.map(({ name, label: text, options }) => ({
    name,
    select: el('select', { 'aria-label': text }, [
      options.map(([value, option]) => el('option', { value }, option)),
    ]),
  }));
  const apply = (): void => {
    const chosen = Object.fromEntries(selects.map(({ name, select }) => [name, select.value]));
    page.go({ view, params: { q: field.input.value.trim(), ...chosen } });
  };
  field.onSearch(apply);
  for (const { select } of selects) select.addEventListener('change', apply);
  return {
    node: el('div', { class: 'filters' }, [
      field.node,
      selects.map(({ select }) => el('span', { class: 'filter' }, select)),
    ]),
    show: ({ params }) => {
      field.input.value = params.q ?? '';
      for (const { name, select } of selects) select.value = params[name] ?? '';
    },
  };
}

export interface SearchField {
  readonly node: HTMLElement;
  readonly input: HTMLInputElement;
  onSearch(search: () => void): void;
}

/** A search field, which the key `/` focuses. */
export function searchField(label: string, placeholder: string): SearchField {
  const input = el('input', {
    type: 'search',
    'aria-label': label,
    placeholder,
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: '256',
    'data-search': true,
    'data-focus': 'search',
  });
  // The text of the last search is replaced by what is typed or pasted, also after another `/`.
  let searched = '';
  input.addEventListener('focus', () => input.select());
  input.addEventListener('keydown', (event) => {
    if (event.key !== '/' || input.value !== searched) return;
    event.preventDefault();
    input.select();
  });
  const node = el('form', { class: 'search', role: 'search' }, [
    icon('search'),
    input,
    el('kbd', { 'aria-hidden': 'true' }, '/'),
  ]);
  return {
    node,
    input,
    onSearch: (search: () => void): void => {
      node.addEventListener('submit', (event) => {
        event.preventDefault();
        searched = input.value;
        search();
      });
      // The cross in the field clears it.
      input.addEventListener('search', () => input.value === '' && search());
    },
  };
}
