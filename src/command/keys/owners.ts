/** `tollgate owners …`: the budgets and rate limits that several keys share. */
import type { Admin } from '../../admin/admin.ts';
import { given as stated } from '../../admin/deps.ts';
import type { OwnerSummary } from '../../admin/keys/owners.ts';
import { rateLinesOf, rateText } from '../../admin/keys/texts.ts';
import { pagesOf } from '../../admin/pages.ts';
import { amountOf, type Command, configOption, type Given, usageError } from '../command.ts';
import { printJson, table } from '../output.ts';
import { refuseMemory } from '../stores/with-stores.ts';
import {
  cacheNote,
  changeOptions,
  grouped,
  idAndAmountIn,
  idIn,
  keyCommand,
  type Opened,
  print,
  topUpAbout,
  topUpIn,
  topUpOptions,
} from './key-command.ts';
import {
  labelChange,
  metadataIn,
  nothingToChange,
  periodIn,
  periodOptions,
  ratesIn,
  rightsOptions,
} from './rights.ts';
import { amountCells, amountHeads, keyTable, metadataText, periodText, shownKeys } from './show.ts';

/** An owner as the command shows it: a balance in the memory of another process is left out. */
function shownOwner<T extends OwnerSummary>(owner: T, { stores }: Opened): T {
  return stores.choice.quota === 'memory' ? { ...owner, balance: undefined } : owner;
}

const list = keyCommand({
  name: 'owners list',
  summary: 'list owners with what their keys have used together',
  options: {
    find: {
      value: 'TEXT',
      text: 'only owners whose id, name or metadata contains it, in any case',
    },
    config: configOption,
  },
  about: 'Lists owners with the limit that their keys share, the one that has used most first.',
  examples: ['npx tollgate owners list', 'npx tollgate owners list --find search --json'],
  task: (given) => {
    const query = stated({ search: given.text('find') });
    return async (opened) => {
      const all = (await allOwners(opened.admin, query)).map((owner) => shownOwner(owner, opened));
      if (given.json) printJson(given.around, { data: all });
      else given.around.out(ownerTable(all, query.search !== undefined));
    };
  },
});

async function allOwners(
  { owners }: Admin,
  query: { readonly search?: string },
): Promise<readonly OwnerSummary[]> {
  const all: OwnerSummary[] = [];
  for await (const { data } of pagesOf((page) => owners.list({ ...query, ...page }))) {
    all.push(...data);
  }
  const usedBy = ({ balance }: OwnerSummary): number => Number(balance?.usedNanos ?? 0n);
  return all.sort((one, other) => usedBy(other) - usedBy(one));
}

function ownerTable(owners: readonly OwnerSummary[], isFiltered: boolean): string {
  const amounts = amountCells(owners.map(({ balance }) => balance));
  return table(
    ['OWNER', 'NAME', 'STATE', 'PERIOD', ...amountHeads, 'METADATA'],
    owners.map(({ id, name, disabled, metadata, ...period }, index) => [
      ...[id, name ?? '-', disabled ? 'disabled' : 'enabled', periodText(period)],
      ...(amounts[index] ?? []),
      metadataText(metadata),
    ]),
    isFiltered
      ? 'No owner matches. Leave out --find to see all.'
      : 'There are no owners yet. npx tollgate owners create adds one.',
  );
}

const show = keyCommand({
  name: 'owners show',
  summary: 'show an owner and its keys',
  positionals: 'OWNER_ID',
  options: { config: configOption },
  about: 'Shows the limit, the rates and the labels of an owner, and its keys.',
  examples: ['npx tollgate owners show team-search'],
  readsUsage: true,
  task: (given) => {
    const id = idIn(given, 'OWNER_ID');
    return async (opened) => {
      const found = await opened.admin.owners.find(id);
      const keys = await shownKeys(given, opened, { owner: id });
      const owner = { ...shownOwner(found, opened), keys };
      if (given.json) return printJson(given.around, owner);
      const rates = rateLinesOf(owner.rates ?? [])
        .map(rateText)
        .join(' ');
      given.around.out(
        `${ownerTable([owner], false)}rates: ${rates === '' ? 'none' : rates}\n\n` +
          (keys.length === 0
            ? `No key names ${id}. npx tollgate keys edit KEY_ID --owner ${id} changes that.\n`
            : keyTable(keys, given.around.clock.now())),
      );
    };
  },
});

const memberOptions: Command['options'] = {
  name: { value: 'TEXT', text: 'its name, for people' },
  ...periodOptions,
  rate: { ...rightsOptions.rate, text: 'calls=60/minute of all its keys together; repeatable' },
  metadata: { value: 'NAME=TEXT', isList: true, text: 'a label of it; repeatable' },
};

function membersIn(given: Given) {
  return stated({
    name: given.text('name'),
    ...periodIn(given),
    rates: ratesIn(given),
    metadata: metadataIn(given),
  });
}

const create = keyCommand({
  name: 'owners create',
  summary: 'add an owner, whose keys share a budget',
  positionals: 'OWNER_ID',
  options: {
    limit: { value: 'AMOUNT', text: 'what all its keys may spend together; default: no limit' },
    ...memberOptions,
    ...changeOptions,
  },
  about: `Adds an owner. Keys name it by --owner of keys issue and keys edit: each of their calls
counts towards its limit and its rates, as well as towards their own.`,
  examples: ['npx tollgate owners create team-search --limit 500 --period month'],
  task: (given) => {
    const id = idIn(given, 'OWNER_ID');
    const limit = given.text('limit');
    const limitNanos = limit === undefined ? undefined : amountOf(limit);
    const owner = { id, ...membersIn(given), ...stated({ limitNanos }) };
    return async (opened) => {
      const created = await opened.admin.owners.create(opened.actor, owner);
      print(given, shownOwner(created, opened), `${id} is added.`);
    };
  },
});

const edit = keyCommand({
  name: 'owners edit',
  summary: 'change an owner',
  positionals: 'OWNER_ID',
  options: {
    ...memberOptions,
    'no-name': { text: 'without a name' },
    'no-rates': { text: 'without rate limits' },
    'no-metadata': { value: 'NAME', isList: true, text: 'without this label; repeatable' },
    disable: { text: 'refuse the calls of its keys' },
    enable: { text: 'accept them again' },
    ...changeOptions,
  },
  about: `Changes the members that are given, and leaves the others as they are. --rate replaces
all its rates; --metadata sets one label. For its limit, use owners limit.
${cacheNote}`,
  examples: ['npx tollgate owners edit team-search --rate calls=600/minute --name Search'],
  task: (given) => {
    const id = idIn(given, 'OWNER_ID');
    const { metadata: _, ...members } = membersIn(given);
    const labels = labelChange(given);
    const [disable, enable] = [given.has('disable'), given.has('enable')];
    if (disable && enable) throw usageError('Give --disable or --enable, not both.');
    const change = {
      ...members,
      ...(given.has('no-name') ? { name: null } : {}),
      ...(given.has('no-rates') ? { rates: null } : {}),
      ...(disable || enable ? { disabled: disable } : {}),
    };
    if (labels === undefined && Object.keys(change).length === 0) {
      throw nothingToChange('owners edit');
    }
    return async (opened) => {
      const { owners } = opened.admin;
      const metadata = labels?.((await owners.find(id)).metadata);
      const owner = await owners.edit(opened.actor, id, { ...change, ...stated({ metadata }) });
      print(given, shownOwner(owner, opened), `${id} is changed.`);
    };
  },
});

const limit = keyCommand({
  name: 'owners limit',
  summary: 'change what all keys of an owner may spend together',
  positionals: 'OWNER_ID AMOUNT',
  options: changeOptions,
  about: `Changes the limit of an owner, from the next call on; AMOUNT none removes it.
${cacheNote}`,
  examples: ['npx tollgate owners limit team-search 800', 'npx tollgate owners limit qa none'],
  task: (given) => {
    const [id, amount] = idAndAmountIn(given, 'OWNER_ID');
    const limitNanos = amount === 'none' ? null : amountOf(amount);
    return async (opened) => {
      const owner = await opened.admin.owners.setLimit(opened.actor, id, limitNanos);
      const sentence =
        limitNanos === null
          ? `${id} has no limit any more.`
          : `The keys of ${id} may spend ${amount} together.`;
      print(given, shownOwner(owner, opened), sentence);
    };
  },
});

const topUp = keyCommand({
  name: 'owners top-up',
  summary: 'add money to the budget of an owner, once for each payment',
  positionals: 'OWNER_ID AMOUNT',
  options: {
    ...topUpOptions,
    ...changeOptions,
  },
  about: topUpAbout,
  examples: ['npx tollgate owners top-up team-search 100 --payment invoice-4712'],
  needsQuota: true,
  task: (given) => {
    const { id, added } = topUpIn(given, 'OWNER_ID');
    return async (opened) => {
      refuseMemory(opened.stores.choice.quota, 'Balances');
      const owner = await opened.admin.owners.topUp(opened.actor, id, added);
      const left = owner.balance?.remainingNanos;
      const text = left === undefined ? 'an unknown amount' : grouped(left);
      print(given, owner, `${id} has ${text} left.`);
    };
  },
});

const remove = keyCommand({
  name: 'owners remove',
  summary: 'remove an owner that no key names',
  positionals: 'OWNER_ID',
  options: { yes: { text: 'confirm; required' }, ...changeOptions },
  about: 'Removes an owner. Its balance, and the usage of the keys that it had, stay.',
  examples: ['npx tollgate owners remove team-search --yes'],
  task: (given) => {
    const id = idIn(given, 'OWNER_ID');
    if (!given.has('yes')) throw usageError("owners remove can't be undone: add --yes.");
    return async ({ admin: { owners }, actor }) => {
      await owners.remove(actor, id);
      print(given, { id, removed: true }, `${id} is removed.`);
    };
  },
});

export const ownerCommands: readonly Command[] = [list, show, create, edit, limit, topUp, remove];
