/**
 * A field for an amount in the host's currency unit. It shows the amount as parsed, so that the
 * operator sees what will be sent.
 */
import { FormProblem } from './dialog.ts';
import { type Attributes, el } from './dom.ts';
import { type Field, textField } from './field.ts';
import { amountText, nanosOf } from './format.ts';

export interface AmountField extends Field {
  /**
   * The amount in nanos.
   *
   * @throws FormProblem if the text is not an amount, or is negative where that is not allowed
   */
  nanos(): string;
}

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
