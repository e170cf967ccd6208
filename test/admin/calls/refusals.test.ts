// suite: slow host
/** Reports on recorded refusals: of the library, and over HTTP. */
import Libsql from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { isAdminError } from '../../../src/admin/index.ts';
import { migrateSqlite, sqliteUsageSink } from '../../../src/stores/sqlite/index.ts';
import { recordedRefusals } from '../../../src/testing/index.ts';
import { type AdminServer, adminServer, adminSetup } from '../admin-host.ts';

let server: AdminServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const minuteMs = 60_000;

function log(keys: number) {
  const client = new Libsql(':memory:');
  migrateSqlite(client);
  const usage = sqliteUsageSink({ client });
  usage.recordRefusals(
    Array.from({ length: keys }, (_, index) =>
      recordedRefusals({
        id: `a_minute_of_keys.${index}`,
        atMs: index * minuteMs,
        keyId: index % 2 === 0 ? `=k${index}` : undefined,
        code: index % 2 === 0 ? 'rate_limited' : 'invalid_key',
        reason: index % 2 === 0 ? 'rate' : undefined,
        refusals: index + 1,
      }),
    ),
  );
  return usage;
}

async function open(keys: number) {
  const usage = log(keys);
  const { admin } = adminSetup({ usage });
  const opened = await adminServer(admin);
  server = opened;
  const get = async (path: string) => JSON.parse((await opened.call({ path })).text);
  return { admin, server: opened, get };
}

describe('reports on refusals', () => {
  it('have every row on one of their pages, the most frequent first, and their sum', async () => {
    const { get } = await open(250);
    const found: { readonly names: readonly string[]; readonly refusals: number }[] = [];
    let next: string | null = '0';
    while (next !== null) {
      const page = await get(`/refusals?by=key,code&fromMs=0&toMs=99999999&limit=60&after=${next}`);
      expect(page.total).toEqual({ refusals: (250 * 251) / 2 });
      found.push(...page.data);
      next = page.next;
    }

    expect(found).toHaveLength(126);
    expect(found[0]?.names).toEqual(['', 'invalid_key']);
    const sums = found.map(({ refusals }) => refusals);
    expect(sums).toEqual(sums.toSorted((one, other) => other - one));
    const byName = await get('/refusals?by=code&fromMs=0&toMs=99999999&sort=name');
    expect(byName.data.map(({ names }: { names: unknown }) => names)).toEqual([
      ['invalid_key'],
      ['rate_limited'],
    ]);
  });

  it('are narrowed by what was refused, and when', async () => {
    const { get } = await open(10);

    expect(await get('/refusals?by=reason&fromMs=0&toMs=99999999&code=rate_limited')).toEqual({
      data: [{ names: ['rate'], refusals: 1 + 3 + 5 + 7 + 9 }],
      next: null,
      total: { refusals: 25 },
    });
    expect(await get(`/refusals?by=day&fromMs=${minuteMs}&toMs=${2 * minuteMs}`)).toMatchObject({
      data: [{ names: ['1970-01-01'], refusals: 2 }],
    });
  });

  it('are exported whole as CSV, without a cell that a spreadsheet would run', async () => {
    const { server: opened } = await open(250);

    const { text, headers } = await opened.call({
      path: '/refusals.csv?by=key,reason&fromMs=0&toMs=99999999',
    });

    const [heading, ...rows] = text.trimEnd().split('\r\n');
    expect(headers['content-disposition']).toBe('attachment; filename="refusals.csv"');
    expect(heading).toBe('key,reason,refusals');
    expect(rows).toHaveLength(126);
    expect(rows[1]).toBe("'=k0,rate,1");
  });

  it.each([
    'by=',
    'by=code,code',
    'by=code,reason,day',
    'by=channel',
    'by=code&fromMs=x',
    'by=code&code=none',
    'by=code&reason=none',
    'by=code&limit=0',
    'by=code&after=x',
  ])('refuse %s', async (query) => {
    const { server: opened } = await open(0);

    expect((await opened.call({ path: `/refusals?fromMs=0&toMs=9&${query}` })).status).toBe(400);
  });

  it('need a log that has refusals, and the capabilities say so', async () => {
    const { admin } = adminSetup({ usage: { record: () => {}, close: async () => {} } });
    const query = { by: 'code', fromMs: 0, toMs: 9 } as const;

    const refused = await admin.refusals.report(query).catch((error: unknown) => error);

    expect(isAdminError(refused) && refused.code).toBe('not_supported');
    expect(admin.capabilities.refusalReports).toBe(false);
    expect((await open(0)).admin.capabilities.refusalReports).toBe(true);
  });
});
