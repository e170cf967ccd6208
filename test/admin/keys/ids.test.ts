// suite: slow host
/** Keys and owners with any ids over HTTP: each path means its own. */
import { expect, it, onTestFinished } from 'vitest';
import { everyId } from '../../../src/testing/contracts/contract-case.ts';
import { adminServer, adminSetup, changing } from '../admin-host.ts';

// The parts of a path that every client removes; such ids are refused.
const unaddressable = ['.', '..'];
const kinds = [
  { kind: 'keys', create: { group: 'staff', limitNanos: '1' }, off: 'disable', body: {} },
  { kind: 'owners', create: {}, off: 'edit', body: { disabled: true } },
] as const;

it.each(kinds)('$kind with any ids are issued, read, disabled and removed one by one', async ({
  kind,
  create,
  off,
  body,
}) => {
  const longest = kind === 'owners' ? 120 : 128;
  const ids = everyId.filter((id) => !unaddressable.includes(id) && id.length <= longest);
  const server = await adminServer(adminSetup().admin);
  onTestFinished(() => server.close());
  const call = async (path: string, body?: object) => {
    const change = body === undefined ? {} : { method: 'POST', headers: changing, body };
    const { status, text } = await server.call({ path, ...change });
    return { status, ...JSON.parse(text) };
  };
  const pathOf = (id: string): string => `/${kind}/${encodeURIComponent(id)}`;

  for (const id of unaddressable) {
    expect((await call(`/${kind}`, { ...create, id })).status, id).toBe(400);
  }
  for (const id of ids) {
    expect((await call(`/${kind}`, { ...create, id })).status, id).toBe(201);
  }
  for (const [index, id] of ids.entries()) {
    if (index % 2 === 0) await call(`${pathOf(id)}/${off}`, body);
    if (index % 3 === 0) await call(`${pathOf(id)}/remove`, {});
  }
  for (const [index, id] of ids.entries()) {
    const found = await call(pathOf(id));
    if (index % 3 === 0) expect(found.status).toBe(404);
    else expect(found).toMatchObject({ status: 200, id, disabled: index % 2 === 0 });
  }
});

it('no key is issued whose calls would be charged to the budget of an owner', async () => {
  const { admin, keys } = adminSetup();
  for (const owner of everyId.filter((id) => id.length <= 120)) {
    const id = `owner.${owner}`;
    const batch = [{ id, group: 'staff', limitNanos: 1n }];
    const changes = [
      admin.keys.issue('op', { id, group: 'staff', limitNanos: 1n }),
      admin.keys.issueBatch('op', 'batch', batch),
    ];

    for (const change of changes) await expect(change, id).rejects.toMatchObject({ field: 'id' });
  }
  expect(await keys.list()).toEqual([]);
});
