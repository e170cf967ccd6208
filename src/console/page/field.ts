/** The fields of forms, each with its label, and the search fields, whose values are in the URL. */

import type { PageContext, View } from './context.ts';
import { FormProblem } from './dialog.ts';
import { type Attributes, el, icon } from './dom.ts';
import { amountText, nanosOf } from './format.ts';
import type { ViewName } from './route.ts';

export interface Field {
  readonly node: HTMLElement;
  readonly input: HTMLInputElement | HTMLSelectElement;
  /** The value without spaces at its ends. */
  value(): string;
}

export function textField(
  name: string,
  label: string,
  { hint, ...attributes }: Attributes & { readonly hint?: string } = {},
): Field {
  const id = `field-${name}`;
  const input = el('input', {
    id,
    name,
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
    ...attributes,
  });
  return fieldOf(label, input, hint);
}

export function choiceField(
  name: string,
  label: string,
  choices: readonly (readonly [value: string, text: string])[],
  value?: string,
): Field {
  const input = el('select', { id: `field-${name}`, name }, [
    choices.map(([choice, text]) =>
      el('option', { value: choice, selected: choice === value }, text),
    ),
  ]);
  return fieldOf(label, input);
}

function fieldOf(label: string, input: Field['input'], hint?: string): Field {
  const node = el('div', { class: 'field' }, [
    el('label', { for: input.id }, label),
    input,
    hint === undefined ? undefined : el('p', { class: 'hint', id: `${input.id}-hint` }, hint),
  ]);
  return { node, input, value: () => input.value.trim() };
}

/**
 * An amount in the host's currency unit. It shows the amount as parsed, so that the operator sees
 * what will be sent.
 */
export function amountField(
  name: string,
  label: string,
  {
    isSigned = false,
    ...attributes
  }: Attributes & { readonly hint?: string; readonly isSigned?: boolean } = {},
) {
  const id = `field-${name}-understood`;
  const described = attributes.hint === undefined ? id : `field-${name}-hint ${id}`;
  const field = textField(name, label, {
    inputmode: 'decimal',
    ...attributes,
    'aria-describedby': described,
  });
  const understood = el('p', { class: 'hint understood', id });
  const read = (): string | undefined => {
    const nanos = nanosOf(field.value());
    return nanos?.startsWith('-') === true && !isSigned ? undefined : nanos;
  };
  const show = (): void => {
    const nanos = read();
    understood.textContent = nanos === undefined ? '' : `That is ${amountText(nanos)}.`;
  };
  field.input.addEventListener('input', show);
  field.node.append(understood);
  show();
  return {
    ...field,
    /** @throws FormProblem if the text is not an amount, or is negative where that is refused */
    nanos: (): string => {
      const nanos = read();
      if (nanos === undefined) throw new FormProblem(name, problemOf(label, isSigned));
      return nanos;
    },
  };
}

function problemOf(label: string, isSigned: boolean): string {
  const what = label.split(',')[0]?.toLowerCase();
  const examples = isSigned ? '25, 0.50 or -3' : '25 or 0.50';
  return `Write the ${what} as a number, such as ${examples}, with a point and without commas.`;
}

interface SearchBarInput {
  readonly view: ViewName;
  readonly label: string;
  readonly placeholder: string;
  readonly choices?: readonly {
    readonly name: string;
    readonly label: string;
    readonly options: readonly (readonly [value: string, text: string])[];
  }[];
}

/** Creates the bar: the text is the parameter `q`, each choice one of its name. */
export function searchBar(page: PageContext, input: SearchBarInput): Pick<View, 'node' | 'show'> {
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

/** A search field, which the key `/` focuses. */
export function searchField(label: string, placeholder: string) {
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
