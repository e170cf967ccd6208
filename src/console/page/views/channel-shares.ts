/** Edits what the catalog says of a channel of a model: weight, priority and cost, everywhere. */
import type { PageContext } from '../context.ts';
import { FormProblem, openDialog } from '../dialog.ts';
import { el } from '../dom.ts';
import { choiceField, type Field, textField } from '../field.ts';
import type { Channel } from '../wire.ts';
import { weightIn } from './channel-switch.ts';

interface ShareFields {
  readonly weight: Field;
  readonly priority: Field;
  readonly cost: Field;
  readonly input: Field;
  readonly output: Field;
  readonly cachedInput: Field;
}

/** Changes only what was edited, one request for each. */
export function shareDialog(
  channel: Channel,
  modelId: string,
  page: PageContext,
  done: () => void,
): void {
  const fields = shareFields(channel);
  openDialog({
    title: `${channel.channelId} of ${modelId}`,
    action: 'Change everywhere',
    content: contentOf(fields),
    run: async () => {
      const changes = changesOf(channel, fields);
      if (changes.length === 0) return undefined;
      for (const [action, body] of changes) {
        const path = `/channels/${encodeURIComponent(channel.channelId)}/${action}`;
        await page.api.post(path, { ...body, modelId });
      }
      const names = changes.map(([action]) => action).join(' and ');
      page.announce(`Changed ${names} of ${channel.channelId} for ${modelId}.`);
      done();
      return undefined;
    },
  });
}

function shareFields({ weight, priority, hasCost }: Channel): ShareFields {
  const rate = (name: string, label: string): Field =>
    textField(name, label, { inputmode: 'decimal', placeholder: 'as input' });
  return {
    weight: textField('weight', 'Weight', {
      inputmode: 'decimal',
      value: String(weight),
      hint: 'Its share among channels of the same priority; 0 for no calls.',
    }),
    priority: textField('priority', 'Priority', {
      inputmode: 'numeric',
      value: String(priority),
      hint: 'Lower numbers are tried first.',
    }),
    cost: choiceField('cost', 'Your cost', [
      ['keep', hasCost ? 'as it is' : 'not stated'],
      ['set', 'per million tokens'],
      ['reported', 'what its replies report'],
      ...(hasCost ? [['none', 'remove it'] as const] : []),
    ]),
    input: textField('input', 'Input', { inputmode: 'decimal', placeholder: '0.15' }),
    output: rate('output', 'Output'),
    cachedInput: rate('cachedInput', 'Cached input'),
  };
}

function contentOf({ weight, priority, cost, input, output, cachedInput }: ShareFields) {
  const rates = el('div', { class: 'field-row', hidden: true }, [
    input.node,
    output.node,
    cachedInput.node,
  ]);
  cost.input.addEventListener('change', () => {
    rates.hidden = cost.value() !== 'set';
  });
  return [el('div', { class: 'field-row' }, weight.node, priority.node), cost.node, rates];
}

type Change = readonly [action: 'weight' | 'priority' | 'cost', body: object];

function changesOf(channel: Channel, fields: ShareFields): readonly Change[] {
  const weight = weightIn(fields.weight.value());
  const priority = priorityIn(fields.priority.value());
  const cost = fields.cost.value();
  return [
    ...(weight === channel.weight ? [] : [['weight', { weight }] as const]),
    ...(priority === channel.priority ? [] : [['priority', { priority }] as const]),
    ...(cost === 'set' ? [['cost', { cost: costIn(fields) }] as const] : []),
    ...(cost === 'reported' ? [['cost', { cost }] as const] : []),
    ...(cost === 'none' ? [['cost', { cost: null }] as const] : []),
  ];
}

function priorityIn(text: string): number {
  const priority = Number(text);
  if (/^-?\d{1,7}$/.test(text) && Math.abs(priority) <= 1_000_000) return priority;
  throw new FormProblem('priority', 'Write a whole number.');
}

/** A rate that is left out is that of the input. */
function costIn({ input, output, cachedInput }: ShareFields) {
  const rates = [
    ['input', input],
    ['output', output],
    ['cachedInput', cachedInput],
  ] as const;
  const given = rates.filter(([name, field]) => name === 'input' || field.value() !== '');
  for (const [name, field] of given) {
    if (!/^\d{1,7}(?:\.\d{1,9})?$/.test(field.value())) {
      throw new FormProblem(name, 'Write the price of a million tokens, such as 0.15.');
    }
  }
  return {
    per: 'token',
    ...Object.fromEntries(given.map(([name, field]) => [name, field.value()])),
  };
}
