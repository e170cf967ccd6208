// suite: slow host
/** Keys of a group that no model has: they are issued with a warning, and flagged. */
import { afterEach, describe, expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import { type AdminServer, adminServer, adminSetup, changing } from '../admin-host.ts';

let server: AdminServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe('keys', () => {
  it('of a group that no model has are issued, with a warning, and flagged', async () => {
    const { admin } = adminSetup();
    server = await adminServer(admin);
    const warningOf = async (path: string, body: object) => {
      const reply = await server?.call({ method: 'POST', path, headers: changing, body });
      return JSON.parse(reply?.text ?? '').warning;
    };
    const issue = (id: string, group: string) => warningOf('/keys', { id, group, limitNanos: '1' });

    expect(await issue('ada', 'staff')).toBe(null);
    expect(await issue('bob', 'stuff')).toBe('No model serves the group stuff.');
    expect(await warningOf('/keys/bob/rotate', { id: 'bob-2' })).toContain('stuff');
    const { data } = await admin.keys.list();
    expect(data.map(({ id, isGroupServed }) => [id, isGroupServed])).toEqual([
      ['ada', true],
      ['bob', false],
      ['bob-2', false],
    ]);
  });

  it('are not flagged if the catalog can’t list its models', async () => {
    const { find, list } = staticCatalog([]);
    const { admin } = adminSetup({ catalog: { find, list } });
    await admin.keys.issue('ada', { id: 'ada', group: 'staff', limitNanos: 1n });

    expect(admin.keys.groupWarning('none')).toBeUndefined();
    expect(await admin.keys.find('ada')).toMatchObject({ isGroupServed: undefined });
  });
});
