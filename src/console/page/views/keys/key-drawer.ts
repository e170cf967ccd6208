/**
 * One key: its balances, its rights, and what can be done with it. What can not be undone needs a
 * confirmation.
 */
import { rateLinesOf, rateText } from '../../../../admin/keys/texts.ts';
import { type IssuedKey, type Key, messageOf, type RefusalReason } from '../../api.ts';
import { canManage, type PageContext } from '../../context.ts';
import {
  changeDialog,
  FormProblem,
  type LoadedDrawer,
  loadedDrawer,
  openDialog,
} from '../../dialog.ts';
import { button, type Child, el, link, timeOf } from '../../dom.ts';
import { choiceField, textField } from '../../field.ts';
import { spanText } from '../../format.ts';
import { factList, failure } from '../../panel.ts';
import { windowOf } from '../../range.ts';
import { metadataOf, refusalList } from '../call-facts.ts';
import { type Budgeted, balanceOf, limitDialog, topUpDialog } from './key-budget.ts';
import { rightsForm } from './key-form.ts';
import { secretStep } from './key-issue.ts';
import { keyState, lastUsed, ownerLink } from './key-table.ts';

export function keyDrawer(page: PageContext, changed: () => void): LoadedDrawer {
  const drawer: LoadedDrawer = loadedDrawer<ShownKey>(page, {
    label: 'Key',
    view: 'keys',
    what: 'the key',
    title: (id) => el('span', { class: 'id' }, id),
    load: (id, signal) => load(id, page, signal),
    render: (shown, again) => partsOf(shown, page, endsOf(drawer, changed, again)),
    problem: (error, again) => failure(messageOf(error), again),
  });
  return drawer;
}

interface ShownKey {
  readonly key: Key;
  readonly refused: readonly RefusalReason[];
}

async function load(id: string, page: PageContext, signal: AbortSignal): Promise<ShownKey> {
  // The reason may be older than the range in which other views are looked at.
  const fromMs = String(windowOf('30d', page.nowMs()).fromMs);
  const [key, { data: refused }] = await Promise.all([
    page.api.get<Key>(`/keys/${encodeURIComponent(id)}`, {}, signal),
    page.api.get<{ readonly data: readonly RefusalReason[] }>(
      '/refusals/reasons',
      { keyId: id, fromMs },
      signal,
    ),
  ]);
  return { key, refused };
}

/** What follows a change of a key or an owner, and its removal. */
export interface Ends {
  done(): void;
  gone(): void;
}

export function endsOf(drawer: LoadedDrawer, changed: () => void, again: () => void): Ends {
  return {
    done: () => {
      changed();
      again();
    },
    gone: () => {
      changed();
      drawer.close();
    },
  };
}

function partsOf({ key, refused }: ShownKey, page: PageContext, ends: Ends): HTMLElement {
  return el('article', { class: 'request' }, [
    keyState(key, page.nowMs()),
    warningsOf(key).map((text) => el('p', { class: 'why' }, text)),
    actionsOf(key, page, ends),
    el('section', { class: 'balances' }, el('h3', {}, 'Quota'), balancesOf(key)),
    refusedLately(key, refused, page, ends),
    factsOf(key, page),
    el('p', { class: 'choices' }, [
      link(page.href({ view: 'calls', params: { key: key.id } }), 'Calls of this key'),
    ]),
  ]);
}

/** Why the key is refused, or of less use than it looks. */
function warningsOf({ group, isGroupServed, owner }: Key): readonly string[] {
  return [
    ...(isGroupServed === false ? [`No model serves the group ${group}.`] : []),
    ...(owner?.disabled === true ? [`Its owner ${owner.id} is disabled or removed.`] : []),
  ];
}

/** The budgets that belong to the key; that of its owner is changed there. */
function budgetOf({ id, balances }: Key): Budgeted {
  const path = `/keys/${encodeURIComponent(id)}`;
  const own = balances === null ? null : balances.filter(({ isOwners }) => !isOwners);
  return { id, path, balances: own, isOptional: false };
}

function balancesOf({ balances }: Key): Child {
  if (balances === null) {
    return el('p', { class: 'hint' }, 'The quota store failed, so the balances are unknown.');
  }
  return balances.length === 0
    ? el('p', { class: 'hint' }, 'This key is charged to no subject: it has no limit.')
    : balances.map(balanceOf);
}

function refusedLately(
  key: Key,
  refused: readonly RefusalReason[],
  page: PageContext,
  { done }: Ends,
): Child {
  if (refused.length === 0) return undefined;
  const budget = budgetOf(key);
  const canTopUp = canManage(page) && budget.balances?.length !== 0;
  return el('section', { class: 'balances' }, [
    el('h3', {}, 'Refused in the last 30 days'),
    link(
      page.href({ view: 'calls', params: { key: key.id, outcome: 'refused' }, range: '30d' }),
      'The requests',
    ),
    refusalList(refused, page, ({ code }) =>
      code === 'insufficient_quota' && canTopUp
        ? button('Top up', () => topUpDialog(budget, page, done), {
            'data-focus': 'refused-top-up',
          })
        : undefined,
    ),
  ]);
}

/** A button above the facts; `name` keeps the focus when they are drawn again. */
export function action(label: string, open: () => void, name: string, look = 'button') {
  return button(label, open, { class: look, 'data-focus': name });
}

function actionsOf(key: Key, page: PageContext, { done, gone }: Ends): Child {
  const { changeKeys, removeKeys, issueKeys } = page.session.capabilities;
  if (!canManage(page)) return undefined;
  const budget = budgetOf(key);
  const hasQuota = budget.balances?.length !== 0;
  return el('div', { class: 'actions' }, [
    changeKeys ? action('Edit', () => editDialog(key, page, done), 'edit') : undefined,
    hasQuota ? action('Top up', () => topUpDialog(budget, page, done), 'top-up') : undefined,
    hasQuota ? action('Set limit', () => limitDialog(budget, page, done), 'limit') : undefined,
    changeKeys && issueKeys
      ? action('Rotate', () => rotateDialog(key, page, done), 'rotate')
      : undefined,
    changeKeys
      ? action(key.disabled ? 'Enable' : 'Disable', () => switchKey(key, page, done), 'switch')
      : undefined,
    removeKeys
      ? action('Remove', () => removeKey(key, page, gone), 'remove', 'button danger')
      : undefined,
  ]);
}

function factsOf(key: Key, page: PageContext): Child {
  const { group, models, owner, rates, expiresAtMs, maxConcurrentCalls, lastUsedMs } = key;
  const nowMs = page.nowMs();
  return [
    factList('Key', [
      ['owner', owner === null ? '–' : [ownerLink(owner.id, page), ` ${owner.name ?? ''}`]],
      ['group', group],
      ['models', models === null ? 'all of the group' : models.join(', ')],
      ['rates', ratesText(rates, 'those of the gateway')],
      ['calls at once', maxConcurrentCalls === null ? 'any' : `${maxConcurrentCalls} at most`],
      ['expires', expiresAtMs === null ? 'never' : timeOf(expiresAtMs, expiryText(expiresAtMs))],
      ['last used', lastUsed(lastUsedMs, nowMs)],
    ]),
    metadataOf(key.metadata),
  ];
}

/** A key may expire in another year, and is edited by its day in UTC. */
function expiryText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Each limit on a line of its own. */
export function ratesText(rates: Key['rates'], none: string): Child {
  if (rates === null || rates.length === 0) return none;
  return rateLinesOf(rates).map((line) => el('span', { class: 'rate' }, rateText(line)));
}

/** Sends only what has changed, so that a change of another operator meanwhile stays. */
function editDialog(key: Key, page: PageContext, done: () => void): void {
  const known = { ...key, owner: key.owner?.id ?? null };
  const form = rightsForm(page, known);
  changeDialog(page, done, {
    title: `Edit ${key.id}`,
    action: 'Save',
    isWide: true,
    content: [form.node, el('p', { class: 'hint' }, cacheText(page))],
    change: async () => {
      const change = Object.fromEntries(
        Object.entries(form.rights()).filter(
          ([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(known, name)),
        ),
      );
      if (Object.keys(change).length > 0) await page.api.post(pathOf(key, 'edit'), change);
      return `${key.id} is changed.`;
    },
  });
}

function switchKey(key: Key, page: PageContext, done: () => void): void {
  const { disabled } = key;
  const effect = disabled
    ? 'Calls with this key are served again.'
    : `Calls with this key are refused with 401. Running calls end as usual. ${cacheText(page)}`;
  switchDialog(page, done, key, effect, () =>
    page.api.post(pathOf(key, disabled ? 'enable' : 'disable'), {}),
  );
}

/** Disables or enables a key or an owner. */
export function switchDialog(
  page: PageContext,
  done: () => void,
  { id, disabled }: Pick<Key, 'id' | 'disabled'>,
  effect: string,
  send: () => Promise<unknown>,
): void {
  const word = disabled ? 'Enable' : 'Disable';
  changeDialog(page, done, {
    title: `${word} ${id}?`,
    action: word,
    isDangerous: !disabled,
    content: el('p', {}, effect),
    change: async () => {
      await send();
      return `${id} is ${disabled ? 'enabled' : 'disabled'}.`;
    },
  });
}

function removeKey(key: Key, page: PageContext, gone: () => void): void {
  const effect =
    'Its usage records and its balance stay; stored replies can no longer be read. ' +
    `Disable it instead if it may be needed again. ${cacheText(page)}`;
  removeDialog(page, gone, key.id, effect, () => page.api.post(pathOf(key, 'remove'), {}));
}

/** Asks for the id of the key or owner, which can't be brought back. */
export function removeDialog(
  page: PageContext,
  gone: () => void,
  id: string,
  effect: string,
  send: () => Promise<unknown>,
): void {
  const typed = textField('typed', `Type ${id} to confirm`, { required: true });
  changeDialog(page, gone, {
    title: `Remove ${id} for good?`,
    action: 'Remove for good',
    isDangerous: true,
    content: [el('p', {}, effect), typed.node],
    change: async () => {
      if (typed.value() !== id) throw new FormProblem('typed', `This is not ${id}.`);
      await send();
      return `${id} is removed.`;
    },
  });
}

const hourMs = 3_600_000;

function rotateDialog(key: Key, page: PageContext, done: () => void): void {
  const overlap = choiceField('overlapMs', 'The old secret stays valid', [
    [String(24 * hourMs), 'for a day'],
    [String(hourMs), 'for an hour'],
    [String(7 * 24 * hourMs), 'for a week'],
    ['0', 'not at all: it may be known to others'],
  ]);
  openDialog({
    title: `Rotate ${key.id}`,
    action: 'Issue the new secret',
    content: [
      el('p', {}, 'A new key with the same rights is charged to the same budget.'),
      overlap.node,
      el('p', { class: 'hint' }, cacheText(page)),
    ],
    run: async (dialog) => {
      const body = { overlapMs: Number(overlap.value()) };
      const issued = await page.api.post<IssuedKey>(pathOf(key, 'rotate'), body);
      done();
      return secretStep(issued, page, dialog, key.models?.[0]);
    },
  });
}

function pathOf({ id }: Key, action: string): string {
  return `/keys/${encodeURIComponent(id)}/${action}`;
}

/** A changed key does not take effect everywhere at once. */
export function cacheText({ session: { keyCacheMs } }: PageContext): string {
  if (keyCacheMs === null) {
    return 'This process applies it at once; others may accept the key while they cache it.';
  }
  if (keyCacheMs === 0) return 'It applies from the next call on.';
  const span = spanText(keyCacheMs);
  return `This process applies it at once; others may accept the key for up to ${span}.`;
}
