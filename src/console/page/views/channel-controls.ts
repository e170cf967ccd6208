/**
 * Changes a channel: on or off in this process, and what the catalog says of its weight, priority
 * and cost, everywhere.
 */
import type { Channel } from '../api.ts';
import type { PageContext } from '../context.ts';
import { FormProblem, openDialog } from '../dialog.ts';
import { el } from '../dom.ts';
import { choiceField, type Field, radioField, textField } from '../field.ts';

type ShareFields = ReturnType<typeof shareFields>;

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

function shareFields({ weight, priority, hasCost }: Channel) {
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

const texts = {
  on: {
    title: 'Turn on',
    process: 'Clears its recorded failures in this process, so that it gets calls at once.',
    everywhere:
      'Gives it a weight in the catalog, in all its models; other processes follow in 2 s.',
  },
  off: {
    title: 'Turn off',
    process: 'Until it is turned on here, or this process ends. Other processes keep using it.',
    everywhere:
      'Sets its weight to 0 in the catalog, in all its models, until it gets a weight again; ' +
      'other processes follow in 2 s.',
  },
} as const;

/** Asks where, and switches the channel there. Running calls continue. */
export function channelSwitchDialog(
  { channelId, weight }: Channel,
  turnOn: boolean,
  page: PageContext,
  done: () => void,
): void {
  const text = texts[turnOn ? 'on' : 'off'];
  const { changeChannels } = page.session.capabilities;
  const where = radioField('where', 'Where', [
    { value: 'process', text: 'in this process', hint: text.process },
    ...(changeChannels ? [{ value: 'everywhere', text: 'everywhere', hint: text.everywhere }] : []),
  ]);
  const share = textField('weight', 'Weight, if everywhere', {
    inputmode: 'decimal',
    value: String(weight > 0 ? weight : 1),
  });
  openDialog({
    title: `${text.title} ${channelId}?`,
    action: text.title,
    isDangerous: !turnOn,
    content: [
      where.node,
      turnOn && changeChannels ? share.node : undefined,
      turnOn ? undefined : el('p', { class: 'hint' }, 'Running calls end as usual.'),
    ],
    run: async () => {
      const isEverywhere = where.value() === 'everywhere';
      const body = {
        where: where.value(),
        ...(turnOn && isEverywhere ? { weight: weightIn(share.value()) } : {}),
      };
      const action = turnOn ? 'enable' : 'disable';
      await page.api.post(`/channels/${encodeURIComponent(channelId)}/${action}`, body);
      const place = isEverywhere ? 'everywhere' : 'in this process';
      page.announce(`${channelId} is ${turnOn ? 'on' : 'off'} ${place}.`);
      done();
      return undefined;
    },
  });
}

/** A share of the calls, relative to the weights of other channels. */
function weightIn(text: string): number {
  const weight = Number(text);
  if (text !== '' && weight >= 0 && weight <= 1_000_000) return weight;
  throw new FormProblem('weight', 'Write a number from 0 to 1,000,000.');
}
