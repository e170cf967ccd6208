/** The commands that change or remove a key. */
import type { Admin } from '../../admin/admin.ts';
import type { KeySummary } from '../../admin/key-summary.ts';
import { formatMoney } from '../../prices/amount.ts';
import { randomIds } from '../../random-ids.ts';
import { type Command, configOption, exitCodes, type Option, usageError } from '../command.ts';
import { printJson } from '../output.ts';
import { actorOf, actorOption } from '../with-admin.ts';
import { refuseMemory } from '../with-stores.ts';
import { printChange, shownKey } from './key-table.ts';
import { amountOf, keyAndAmountIn, keyIdIn } from './values.ts';
import { cacheNote, withKeys } from './with-keys.ts';

const subjectOption: Option = {
  type: 'string',
  value: 'ID',
  text: "which of the quotas that the key is charged to; default: the key's own, else the first",
};

function switching(task: 'disable' | 'enable'): Command {
  const word = task === 'disable' ? 'off' : 'on';
  return {
    name: `keys ${task}`,
    summary: task === 'disable' ? 'refuse the calls of a key' : 'accept the calls of a key again',
    positionals: 'KEY_ID',
    options: { actor: actorOption, config: configOption },
    about: `Switches a key ${word}; its running calls continue.
${cacheNote}`,
    examples: [`npx tollgate keys ${task} ada`],
    run: (given) => {
      const id = keyIdIn(given);
      return withKeys(given, async ({ keys }, open) => {
        const key = await keys[task](actorOf(given), id);
        printChange(given, shownKey(key, open), `${id} is ${task}d.`);
        return exitCodes.done;
      });
    },
  };
}

const limit: Command = {
  name: 'keys limit',
  summary: "change a key's limit",
  positionals: 'KEY_ID AMOUNT',
  options: { subject: subjectOption, actor: actorOption, config: configOption },
  about: `Changes what a key may spend in each period. The new limit applies from the next call on;
what was used in the current period counts towards it.
${cacheNote}`,
  examples: ['npx tollgate keys limit ada 20'],
  run: (given) => {
    const [id, amount] = keyAndAmountIn(given);
    const subject = given.text('subject');
    const change = {
      limitNanos: amountOf(amount),
      ...(subject === undefined ? {} : { subject }),
    };
    return withKeys(given, async ({ keys }, open) => {
      const key = await keys.setLimit(actorOf(given), id, change);
      const added = changedBalance(key, subject)?.extraNanos ?? 0n;
      const more = added === 0n ? '' : `, and ${formatMoney(added)} that was added for this period`;
      printChange(given, shownKey(key, open), `${id} may spend ${amount}${more}.`);
      return exitCodes.done;
    });
  },
};

const topUp: Command = {
  name: 'keys top-up',
  summary: 'add money to a key, once for each payment',
  positionals: 'KEY_ID AMOUNT',
  options: {
    payment: {
      type: 'string',
      value: 'ID',
      text: 'the id of the payment; the same id twice adds the money once',
    },
    subject: subjectOption,
    actor: actorOption,
    config: configOption,
  },
  about: `Adds to the limit of the current period. Without --payment each call adds the money
again.`,
  examples: ['npx tollgate keys top-up ada 20 --payment invoice-4711'],
  run: (given) => {
    const [id, amount] = keyAndAmountIn(given);
    const amountNanos = amountOf(amount);
    if (amountNanos === 0n) throw usageError('AMOUNT must be above 0: nothing would be added.');
    const payment = given.text('payment') ?? randomIds()();
    const subject = given.text('subject');
    return withKeys(
      given,
      async ({ keys }, open) => {
        refuseMemory(open.stores.choice.quota, 'Balances');
        const key = await keys.topUp(actorOf(given), id, {
          id: payment,
          amountNanos,
          ...(subject === undefined ? {} : { subject }),
        });
        const changed = changedBalance(key, subject);
        const left =
          changed === undefined ? 'an unknown amount' : formatMoney(changed.remainingNanos);
        printChange(given, shownKey(key, open), `${id} has ${left} left.`);
        return exitCodes.done;
      },
      { needsQuota: true },
    );
  },
};

const remove: Command = {
  name: 'keys remove',
  summary: 'remove a key for good',
  positionals: 'KEY_ID',
  options: {
    yes: { type: 'boolean', text: 'confirm; required' },
    actor: actorOption,
    config: configOption,
  },
  about: `Removes a key. Its calls in the usage log and its balances stay. To refuse its calls for
a while, disable it.
${cacheNote}`,
  examples: ['npx tollgate keys remove ada --yes'],
  run: (given) => {
    const id = keyIdIn(given);
    if (!given.has('yes')) {
      throw usageError(`keys remove can't be undone: add --yes, or run keys disable ${id}.`);
    }
    const task = async ({ keys }: Admin): Promise<number> => {
      await keys.remove(actorOf(given), id);
      if (given.json) printJson(given.around, { id, removed: true });
      else given.around.out(`${id} is removed.\n`);
      return exitCodes.done;
    };
    return withKeys(given, task, { forgets: true });
  },
};

/** The balance that a change applies to; undefined if the quota store failed. */
function changedBalance({ balances }: KeySummary, subject: string | undefined) {
  return balances?.find((one) => (subject === undefined ? one.isMain : one.subject === subject));
}

/** The commands that change a key, in the order of the help. */
export const keyChanges: readonly Command[] = [
  switching('disable'),
  switching('enable'),
  limit,
  topUp,
  remove,
];
