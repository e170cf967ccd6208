// suite: slow host
/** Keys with any ids over HTTP: each path means its own key. */
import { expect, it, onTestFinished } from 'vitest';
import { everyId } from '../../../src/testing/contracts/ids.ts';
import { adminServer, adminSetup, changing } from '../admin-host.ts';

// The parts of a path that every client removes; such ids are refused.
const [unaddressable, ids] = [['.', '..'], everyId.filter((id) => id !== '.' && id !== '..')];

it('keys with any ids are issued, read, disabled and removed one by one', async () => {
  const server = await adminServer(adminSetup().admin);
  onTestFinished(() => server.close());
  const call = async (path: string, body?: object) => {
    const change = body === undefined ? {} : { method: 'POST', headers: changing, body };
    const { status, text } = await server.call({ path, ...change });
    return { status, ...JSON.parse(text) };
  };
  const pathOf = (id: string): string => `/keys/${encodeURIComponent(id)}`;

  for (const id of unaddressable) {
    expect((await call('/keys', { id, group: 'staff', limitNanos: '1' })).status).toBe(400);
  }
  for (const id of ids) {
    const issued = await call('/keys', { id, group: 'staff', limitNanos: '1' });
    expect(issued).toMatchObject({ status: 201, key: { id } });
  }
  for (const [index, id] of ids.entries()) {
    if (index % 2 === 0) await call(`${pathOf(id)}/disable`, {});
    if (index % 3 === 0) await call(`${pathOf(id)}/remove`, {});
  }
  for (const [index, id] of ids.entries()) {
    const found = await call(pathOf(id));
    if (index % 3 === 0) expect(found.status).toBe(404);
    else expect(found).toMatchObject({ status: 200, id, disabled: index % 2 === 0 });
  }
});
