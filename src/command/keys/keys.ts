/**
 * `tollgate keys …`: issues, shows and changes keys in SQLite or PostgreSQL, with the admin
 * library.
 */
import { given as stated } from '../../admin/deps.ts';
import type { KeySummary } from '../../admin/keys/summary.ts';
import { amountOf, type Command, durationOf, type Given, usageError } from '../command.ts';
import { refuseMemory } from '../stores/with-stores.ts';
import { edit, issue } from './issue.ts';
import {
  cacheNote,
  changeOptions,
  grouped,
  idAndAmountIn,
  idIn,
  keyCommand,
  print,
  printSecret,
  shownKey,
  subjectOptions,
  topUpAbout,
  topUpIn,
  topUpOptions,
} from './key-command.ts';
import { ownerCommands } from './owners.ts';
import { list, show } from './show.ts';

const rotate = keyCommand({
  name: 'keys rotate',
  printsSecret: true,
  summary: 'replace the secret of a key by a new key',
  positionals: 'KEY_ID',
  options: {
    overlap: {
      value: 'TIME',
      text: 'how long the old secret stays valid: 30m, 24h; default: not at all',
    },
    id: { value: 'ID', text: 'the id of the new key; default: a random one' },
    ...changeOptions,
  },
  about: `Issues a key with the rights of the old one, charged to the same quota, prints its
secret on standard output, and lets the old one expire. Callers have the time of the overlap
to switch to the new secret.
${cacheNote}`,
  examples: ['npx tollgate keys rotate ada --overlap 24h > secret.txt'],
  task: (given) => {
    const oldId = idIn(given);
    const options = stated({ id: given.text('id'), overlapMs: overlapIn(given) });
    return async ({ admin: { keys }, actor }) => {
      const issued = await keys.rotate(actor, oldId, options);
      const end = new Date(issued.replaced.expiresAtMs).toISOString();
      printSecret(given, issued, `${issued.key.id} replaces ${oldId}, which expires ${end}.`);
    };
  },
});

function switching(task: 'disable' | 'enable'): Command {
  const [word, summary] = {
    disable: ['off', 'refuse the calls of a key'] as const,
    enable: ['on', 'accept the calls of a key again'] as const,
  }[task];
  return keyCommand({
    name: `keys ${task}`,
    summary,
    positionals: 'KEY_ID',
    options: changeOptions,
    about: `Switches a key ${word}; its running calls continue.
${cacheNote}`,
    examples: [`npx tollgate keys ${task} ada`],
    task: (given) => {
      const id = idIn(given);
      return async (opened) => {
        const key = await opened.admin.keys[task](opened.actor, id);
        print(given, shownKey(key, opened), `${id} is ${task}d.`);
      };
    },
  });
}

const limit = keyCommand({
  name: 'keys limit',
  summary: "change a key's limit",
  positionals: 'KEY_ID AMOUNT',
  options: subjectOptions,
  about: `Changes what a key may spend in each period. The new limit applies from the next call on;
what was used in the current period counts towards it.
${cacheNote}`,
  examples: ['npx tollgate keys limit ada 20'],
  task: (given) => {
    const [id, amount] = idAndAmountIn(given);
    const subject = given.text('subject');
    const change = { limitNanos: amountOf(amount), ...stated({ subject }) };
    return async (opened) => {
      const key = await opened.admin.keys.setLimit(opened.actor, id, change);
      const added = changedBalance(key, subject)?.extraNanos ?? 0n;
      const more = added === 0n ? '' : `, and ${grouped(added)} that was added for this period`;
      print(given, shownKey(key, opened), `${id} may spend ${amount}${more}.`);
    };
  },
});

const topUp = keyCommand({
  name: 'keys top-up',
  summary: 'add money to a key, once for each payment',
  positionals: 'KEY_ID AMOUNT',
  options: {
    ...topUpOptions,
    ...subjectOptions,
  },
  about: topUpAbout,
  examples: ['npx tollgate keys top-up ada 20 --payment invoice-4711'],
  needsQuota: true,
  task: (given) => {
    const { id, added } = topUpIn(given);
    const subject = given.text('subject');
    return async (opened) => {
      refuseMemory(opened.stores.choice.quota, 'Balances');
      const topUp = { ...added, ...stated({ subject }) };
      const key = await opened.admin.keys.topUp(opened.actor, id, topUp);
      const changed = changedBalance(key, subject);
      const left = changed === undefined ? 'an unknown amount' : grouped(changed.remainingNanos);
      print(given, shownKey(key, opened), `${id} has ${left} left.`);
    };
  },
});

const remove = keyCommand({
  name: 'keys remove',
  summary: 'remove a key for good',
  positionals: 'KEY_ID',
  options: { yes: { text: 'confirm; required' }, ...changeOptions },
  about: `Removes a key. Its calls in the usage log and its balances stay. To refuse its calls for
a while, disable it.
${cacheNote}`,
  examples: ['npx tollgate keys remove ada --yes'],
  forgets: true,
  task: (given) => {
    const id = idIn(given);
    if (!given.has('yes')) {
      throw usageError(`keys remove can't be undone: add --yes, or run keys disable ${id}.`);
    }
    return async ({ admin: { keys }, actor }) => {
      await keys.remove(actor, id);
      print(given, { id, removed: true }, `${id} is removed.`);
    };
  },
});

export const keyCommands: readonly Command[] = [
  ...[issue, list, show, edit, rotate],
  ...[switching('disable'), switching('enable'), limit, topUp, remove],
  ...ownerCommands,
];

function overlapIn({ text }: Given): number | undefined {
  const overlap = text('overlap');
  if (overlap === undefined) return undefined;
  const overlapMs = durationOf(overlap);
  if (overlapMs === undefined) throw usageError('--overlap must be a duration such as 30m or 24h.');
  return overlapMs;
}

/** The balance that a change applies to; undefined if the quota store failed. */
function changedBalance({ balances }: KeySummary, subject: string | undefined) {
  return balances?.find((one) => (subject === undefined ? one.isMain : one.subject === subject));
}
