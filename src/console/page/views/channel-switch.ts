/** Turns a channel off or on: in this process, or everywhere by its weight in the catalog. */
import type { PageContext } from '../context.ts';
import { FormProblem, openDialog } from '../dialog.ts';
import { el } from '../dom.ts';
import { radioField, textField } from '../field.ts';
import type { Channel } from '../wire.ts';

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
export function weightIn(text: string): number {
  const weight = Number(text);
  if (text !== '' && weight >= 0 && weight <= 1_000_000) return weight;
  throw new FormProblem('weight', 'Write a number from 0 to 1,000,000.');
}
