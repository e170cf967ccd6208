// suite: slow host
/** The audit trail has one entry for each change, whatever became of it, and can be searched. */
import { expect, it, onTestFinished } from 'vitest';
import { routes } from '../../src/admin/http/routes.ts';
import { AdminError, type AdminOptions, memoryAuditLog } from '../../src/admin/index.ts';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { StoreUnavailable } from '../../src/ports/call-options.ts';
import type { ListedModel } from '../../src/ports/models/listed-model.ts';
import { defaultModels } from '../support/models.ts';
import { adminServer, adminSetup, changing } from './admin-host.ts';

const changes = routes.filter(({ action }) => action !== undefined);

/** What each change sends, and of what; the others are sent without a body. */
const sent: Readonly<Record<string, { readonly id?: string; readonly body: object }>> = {
  'key.issue': { body: { group: 'default', limitNanos: '5', period: 'total', id: 'new' } },
  'key.rotate': { id: 'k', body: {} },
  'key.disable': { id: 'k', body: {} },
  'key.enable': { id: 'k', body: {} },
  'key.limit': { id: 'k', body: { limitNanos: '7' } },
  'key.top_up': { id: 'k', body: { id: 'pay-1', amountNanos: '7' } },
  'key.remove': { id: 'k', body: {} },
  'channel.disable': { id: 'openai-a', body: {} },
  'channel.enable': { id: 'openai-a', body: {} },
  'channel.weight': { id: 'openai-a', body: { weight: 3 } },
  'channel.priority': { id: 'openai-a', body: { priority: 3 } },
  'channel.cost': { id: 'openai-a', body: { cost: 'reported' } },
  'model.price': { id: 'chat', body: { price: { per: 'token', input: '1', output: '2' } } },
};

const version = {
  ...{ version: 2, atMs: 1, actor: 'ada', note: undefined, changes: [], moreChanges: 0 },
};

/** A catalog whose versions can be changed, or fail to be. */
function changeable(fail?: Error): NonNullable<AdminOptions['catalog']> {
  const models: readonly ListedModel[] = defaultModels();
  const result = async <T>(value: T): Promise<T> => {
    if (fail !== undefined) throw fail;
    return value;
  };
  return {
    ...staticCatalog(models),
    publish: () => result(version),
    publishJson: () => result(version),
    changeChannel: () => result(['chat']),
    changePrice: () => result(version),
    rollback: () => result(version),
    history: () => result([version]),
    read: () => result({ version: 1, models: [] }),
  };
}

type Access = { readonly actor: string; readonly can: 'read' | 'manage' };

/** Sends every change once, and returns the entries of each. */
async function afterEach(
  options: Pick<AdminOptions, 'catalog'>,
  access: Access,
  headers: Readonly<Record<string, string>> = changing,
) {
  const found: Record<string, readonly { readonly outcome: string; readonly actor: string }[]> = {};
  for (const { path, action = '' } of changes) {
    const auditLog = memoryAuditLog();
    const { admin, keys, entries } = adminSetup({ catalog: changeable(), ...options, auditLog });
    keys.issue({ id: 'k', group: 'default', limitNanos: 5n });
    const server = await adminServer(admin, () => access);
    const { id = 'x', body = {} } = sent[action] ?? {};
    const target = path.replace('{id}', id);
    await server.call({ method: 'POST', path: target, headers, body });
    await server.close();
    const { data } = await admin.audit.list();
    expect(data, path).toEqual(entries);
    for (const entry of data) expect(entry, path).toMatchObject({ action, actor: access.actor });
    found[path] = data;
  }
  return found;
}

const ada = { actor: 'ada', can: 'manage' } as const;

it('every change that is made has one entry', async () => {
  const found = await afterEach({}, ada);

  for (const { path, action = '' } of changes) {
    expect(found[path], path).toHaveLength(1);
    if (action in sent) expect(found[path], path).toMatchObject([{ outcome: 'done' }]);
  }
});

it('every change that is refused has one entry', async () => {
  const bob = { actor: 'bob', can: 'read' } as const;
  const byRight = await afterEach({}, bob);
  const byRule = await afterEach({}, ada, { ...changing, 'sec-fetch-site': 'cross-site' });

  for (const found of [byRight, byRule]) {
    for (const { path } of changes) {
      expect(found[path], path).toMatchObject([{ outcome: 'refused' }]);
    }
  }
});

it('every change that fails in a store has one entry', async () => {
  const catalog = changeable(new StoreUnavailable('down'));
  const found = await afterEach({ catalog }, ada);

  for (const { path } of changes) expect(found[path], path).toHaveLength(1);
  expect(found['/models/{id}/price']).toMatchObject([{ outcome: 'failed', code: 'unavailable' }]);
});

it('a change is made although its entry can’t be written, and the error is reported', async () => {
  const errors: unknown[] = [];
  const down = new StoreUnavailable('down');
  const auditLog = { ...memoryAuditLog(), record: () => Promise.reject(down) };
  const { admin, keys } = adminSetup({ auditLog, onAuditError: (error) => errors.push(error) });
  keys.issue({ id: 'k', group: 'default', limitNanos: 5n });

  await admin.keys.disable('ada', 'k');

  expect(keys.get('k')?.disabled).toBe(true);
  expect(errors).toEqual([down]);
});

it('a change waits two seconds at most for its entry to be written', async () => {
  const errors: unknown[] = [];
  const auditLog = { ...memoryAuditLog(), record: () => new Promise<void>(() => {}) };
  const { admin, keys, clock } = adminSetup({
    auditLog,
    onAuditError: (error) => errors.push(error),
  });
  keys.issue({ id: 'k', group: 'default', limitNanos: 5n });
  let isDone = false;
  void admin.keys.disable('ada', 'k').then(() => {
    isDone = true;
  });
  await expect.poll(() => keys.get('k')?.disabled).toBe(true);
  expect(isDone).toBe(false);

  await expect
    .poll(() => {
      clock.advance(2_000);
      return isDone;
    })
    .toBe(true);

  expect(errors).toHaveLength(1);
});

it('is searched over HTTP, and exported without a secret', async () => {
  const { admin, keys, clock } = adminSetup({ catalog: changeable() });
  const server = await adminServer(admin);
  onTestFinished(server.close);
  const fromMs = clock.now();
  const { secret } = await admin.keys.issue('ada', { group: 'default', limitNanos: 5n, id: 'k' });
  clock.advance(1_000);
  await admin.keys.disable('bob', 'k');
  await admin.channels.setWeight('bob', 'openai-a', { weight: 3 });
  await admin.catalog.setPrice('ada', 'chat', { price: { per: 'free' } });
  const list = async (query: string) => {
    const { text } = await server.call({ path: `/audit?${query}` });
    const { data }: { data: { action: string; change: object }[] } = JSON.parse(text);
    return data.map(({ action }) => action);
  };

  expect(await list('actor=bob')).toEqual(['channel.weight', 'key.disable']);
  expect(await list('action=key')).toEqual(['key.disable', 'key.issue']);
  expect(await list('action=key.issue&target=k')).toEqual(['key.issue']);
  expect(await list(`toMs=${fromMs + 1_000}`)).toEqual(['key.issue']);
  expect(await list('outcome=refused')).toEqual([]);
  const weights = (await admin.audit.list({ action: 'channel' })).data;
  expect(weights).toMatchObject([{ change: { weight: 3, weightBefore: 1 } }]);
  const prices = (await admin.audit.list({ action: 'model' })).data;
  expect(prices).toMatchObject([{ change: { price: 'free', version: 2 } }]);
  const { text, headers } = await server.call({ path: '/audit.csv' });
  expect(headers['content-disposition']).toContain('audit.csv');
  expect(text.split('\r\n')).toHaveLength(6);
  for (const shown of [text, JSON.stringify((await admin.audit.list()).data)]) {
    expect(shown).not.toContain(secret);
  }
  expect(keys.get('k')?.disabled).toBe(true);
});

it('a conflict of the catalog is an AdminError with that code', async () => {
  const conflict = Object.assign(new Error('Version 3 …'), { name: 'CatalogConflict' });
  const { admin } = adminSetup({ catalog: changeable(conflict) });

  const late = admin.catalog.setPrice('ada', 'chat', { price: { per: 'free' }, after: 1 });

  await expect(late).rejects.toThrow(AdminError);
  await expect(late).rejects.toMatchObject({ code: 'conflict' });
});
