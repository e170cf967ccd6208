/** What the commands of keys and owners share: how they run, and the parts of their arguments. */
import type { Admin } from '../../admin/admin.ts';
import { given as stated } from '../../admin/deps.ts';
import type { KeySummary } from '../../admin/keys/summary.ts';
import type { IssuedKey } from '../../issue-key.ts';
import { randomIds } from '../../random-ids.ts';
import {
  amountOf,
  type Command,
  configOption,
  exitCodes,
  type Given,
  usageError,
} from '../command.ts';
import { numberColumn, printJson } from '../output.ts';
import {
  type AdminNeeds,
  actorOf,
  actorOption,
  type OpenStores,
  refuseMemory,
  withAdmin,
} from '../stores/with-stores.ts';

/** The stores, the admin library over them, and who runs the command. */
export interface Opened extends OpenStores {
  readonly admin: Admin;
  readonly actor: string;
}

interface KeyCommand extends Omit<Command, 'run'>, AdminNeeds {
  /** Reads the arguments, before anything is opened, and returns the task. */
  readonly task: (given: Given) => (opened: Opened) => Promise<void>;
}

export function keyCommand({
  task,
  needsQuota,
  forgets,
  readsUsage,
  ...command
}: KeyCommand): Command {
  const run = (given: Given): Promise<number> => {
    const change = task(given);
    const open = async (admin: Admin, opened: OpenStores): Promise<number> => {
      refuseMemory(opened.stores.choice.keys, 'Keys');
      await change({ ...opened, admin, actor: actorOf(given) });
      return exitCodes.done;
    };
    return withAdmin(given, open, stated({ needsQuota, forgets, readsUsage }));
  };
  return { ...command, run };
}

export const changeOptions: Command['options'] = { actor: actorOption, config: configOption };

export const subjectOptions: Command['options'] = {
  subject: {
    value: 'ID',
    text: "which of the quotas that the key is charged to; default: the key's own, else the first",
  },
  ...changeOptions,
};

export const cacheNote = 'Running gateways cache a key for keys.cacheMs, 30 s by default.';

/** The first argument: the id of a key, or of what `name` stands for. */
export function idIn({ positionals: [id] }: Given, name = 'KEY_ID'): string {
  if (id === undefined) throw usageError(`${name} is missing: give an id.`);
  return id;
}

export function idAndAmountIn(
  { positionals: [id, amount] }: Given,
  name = 'KEY_ID',
): readonly [string, string] {
  if (id === undefined || amount === undefined)
    throw usageError(`${name} and AMOUNT are required.`);
  return [id, amount];
}

export const topUpOptions: Command['options'] = {
  payment: { value: 'ID', text: 'the id of the payment; the same id twice adds the money once' },
};

export const topUpAbout = `Adds to the limit of the current period. Without --payment each call
adds the money again.`;

/** What is topped up, and by how much. */
export function topUpIn(
  given: Given,
  name = 'KEY_ID',
): { readonly id: string; readonly added: { readonly id: string; readonly amountNanos: bigint } } {
  const [id, amount] = idAndAmountIn(given, name);
  const amountNanos = amountOf(amount);
  if (amountNanos === 0n) throw usageError('AMOUNT must be above 0: nothing would be added.');
  return { id, added: { id: given.text('payment') ?? randomIds()(), amountNanos } };
}

export function print({ around, json }: Given, changed: object, sentence: string): void {
  if (json) printJson(around, changed);
  else around.out(`${sentence}\n`);
}

/** Only the secret goes to standard output, so that `> secret.txt` stores it and nothing else. */
export function printSecret({ around, json }: Given, issued: IssuedKey, sentence: string): void {
  if (json) return printJson(around, issued);
  around.out(`${issued.secret}\n`);
  around.err(`${sentence} Store the secret now.\n`);
}

/** A key as the command shows it: balances in the memory of another process are left out. */
export function shownKey(key: KeySummary, { stores }: OpenStores): KeySummary {
  return stores.choice.quota === 'memory' ? { ...key, balances: undefined } : key;
}

/** An amount with its thousands separated. */
export function grouped(nanos: bigint): string {
  return numberColumn([nanos])[0] ?? '';
}
