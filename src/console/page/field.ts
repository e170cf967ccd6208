/** The fields of forms, each with its label and, if the interface refuses its value, the reason. */
import { type Attributes, el } from './dom.ts';

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

export interface Choice {
  readonly node: HTMLElement;
  value(): string;
}

export function radioField(
  name: string,
  label: string,
  ways: readonly { readonly value: string; readonly text: string; readonly hint: string }[],
): Choice {
  const inputs = ways.map(({ value }, index) =>
    el('input', { type: 'radio', name, value, id: `${name}-${value}`, checked: index === 0 }),
  );
  const rows = ways.map(({ value, text, hint }, index) =>
    el('div', { class: 'radio' }, [
      inputs[index],
      el('label', { for: `${name}-${value}` }, [
        el('b', {}, text),
        el('span', { class: 'hint' }, hint),
      ]),
    ]),
  );
  return {
    node: el('fieldset', { class: 'radios' }, el('legend', {}, label), rows),
    value: () => inputs.find(({ checked }) => checked)?.value ?? '',
  };
}
