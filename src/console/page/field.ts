/** The fields of forms, each with its label and, if the interface refuses its value, the reason. */

import { FormProblem } from './dialog.ts';
import { type Attributes, el } from './dom.ts';
import { amountText, nanosOf } from './format.ts';

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

export function radioField(
  name: string,
  label: string,
  ways: readonly { readonly value: string; readonly text: string; readonly hint: string }[],
) {
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

export interface AmountField extends Field {
  /**
   * The amount in nanos.
   *
   * @throws FormProblem if the text is not an amount, or is negative where that is not allowed
   */
  nanos(): string;
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
): AmountField {
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
    nanos: () => {
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
