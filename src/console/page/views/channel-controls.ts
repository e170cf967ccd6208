/**
 * Changes and tests a channel: on or off in all replicas, a short call, and what the catalog says
 * of its weight, priority and cost.
 */
import type { Reply } from '../../../admin/http/replies.ts';
import type { Channel } from '../api.ts';
import type { PageContext } from '../context.ts';
import { changeDialog, FormProblem, openDialog, problemText } from '../dialog.ts';
import { button, type Child, el, icon } from '../dom.ts';
import { choiceField, type Field, textField } from '../field.ts';
import { amountText, durationText, sentence, wordsOf } from '../format.ts';
import { factList } from '../panel.ts';

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

/** Asks, and switches the channel in all replicas. Running calls continue. */
export function channelSwitchDialog(
  channelId: string,
  turnOn: boolean,
  page: PageContext,
  done: () => void,
): void {
  const action = turnOn ? 'Turn on' : 'Turn off';
  changeDialog(page, done, {
    title: `${action} ${channelId}?`,
    action,
    isDangerous: !turnOn,
    content: switchText(turnOn, page),
    change: () => switchChannel(channelId, turnOn, page),
  });
}

function switchText(turnOn: boolean, { session }: PageContext): Child {
  const { switchEverywhere } = session.capabilities;
  const place = switchEverywhere
    ? 'In all replicas, within 5 s, and after a restart too.'
    : 'In this process alone, until it ends: without a database, others are not known.';
  const effect = turnOn
    ? 'It gets calls again, and what was recorded against it is forgotten.'
    : 'It gets no more calls. Those that are running end as usual.';
  return [el('p', {}, effect), el('p', { class: 'hint' }, place)];
}

/** Says in a sentence where the channel is on or off now. */
async function switchChannel(
  channelId: string,
  turnOn: boolean,
  page: PageContext,
): Promise<string> {
  const path = `/channels/${encodeURIComponent(channelId)}/${turnOn ? 'enable' : 'disable'}`;
  const { where } = await page.api.post<Reply<'ChannelSwitched'>>(path, {});
  const place = where === 'everywhere' ? 'in all replicas' : 'in this process';
  return `${channelId} is ${turnOn ? 'on' : 'off'} ${place}.`;
}

interface Testable {
  readonly channelId: string;
  readonly state: Channel['state'];
  readonly modelIds: readonly string[];
}

/** Sends one call, shows what became of it, and offers to enable a channel that works again. */
export function testDialog(
  { channelId, state, modelIds }: Testable,
  page: PageContext,
  done: () => void,
): void {
  const model = choiceField('modelId', 'Model', [
    ...(modelIds.length > 1 ? [['', 'the first with a cheap call'] as const] : []),
    ...modelIds.map((id) => [id, id] as const),
  ]);
  openDialog({
    title: `Test ${channelId}`,
    action: 'Send a call',
    content: [
      model.node,
      el(
        'p',
        { class: 'hint' },
        'A call of a few tokens, which your account pays. No key is charged, and the state of ' +
          'the channel does not change.',
      ),
    ],
    run: async (dialog) => {
      const path = `/channels/${encodeURIComponent(channelId)}/test`;
      const modelId = model.value();
      const tested = await page.api.post<Tested>(path, modelId === '' ? {} : { modelId });
      const turnOn = async (): Promise<void> => {
        try {
          page.announce(await switchChannel(channelId, true, page));
          dialog.close();
          done();
        } catch (error) {
          page.announce(problemText(error));
        }
      };
      const canReturn = tested.passed && !['ready', 'half_open'].includes(state);
      return el('div', { class: 'form' }, [
        testResult(tested),
        el('div', { class: 'dialog-end' }, [
          canReturn ? button('Turn it on', () => void turnOn()) : undefined,
          button('Done', dialog.close, { class: 'button main' }),
        ]),
      ]);
    },
  });
}

type Tested = Reply<'ChannelTested'>;

function testResult(tested: Tested): Child {
  const { passed, modelId, upstreamModel, status, reason, meaning, remedy, durationMs } = tested;
  const { inputTokens, outputTokens, chargeNanos, costNanos } = tested;
  const word = passed ? 'It works' : 'It failed';
  return [
    el('p', { class: 'outcome', role: 'status' }, [
      el(
        'span',
        { class: `badge badge-${passed ? 'ok' : 'bad'}` },
        icon(passed ? 'ok' : 'bad'),
        word,
      ),
      reason === null ? undefined : el('span', { class: 'reason' }, wordsOf(reason)),
    ]),
    meaning === null ? undefined : el('p', {}, sentence(meaning)),
    remedy === null ? undefined : el('p', { class: 'hint' }, sentence(remedy)),
    factList('The call', [
      ['model', modelId === upstreamModel ? modelId : `${modelId}, there ${upstreamModel}`],
      ['upstream status', status === null ? 'none' : String(status)],
      ['latency', durationText(durationMs)],
      ['tokens', inputTokens === null ? undefined : `${inputTokens} in, ${outputTokens ?? 0} out`],
      ['price', passed ? amountText(chargeNanos) : undefined],
      ['your cost', costNanos === null ? undefined : amountText(costNanos)],
    ]),
  ];
}

/** A share of the calls, relative to the weights of other channels. */
function weightIn(text: string): number {
  const weight = Number(text);
  if (text !== '' && weight >= 0 && weight <= 1_000_000) return weight;
  throw new FormProblem('weight', 'Write a number from 0 to 1,000,000.');
}
