// suite: slow host
/** Issuing the keys of a CSV file: all or none, no key twice, and every secret is accounted for. */
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCsv } from '../../../src/admin/csv.ts';
import { type CommandFolder, commandFolder } from '../called.ts';

const heading = 'id,group,limit,period,models,rates,max_calls,expires,metadata.user';

/** Writes the rows, and issues their keys as the batch `autumn`. */
function issuing({ call, folder }: CommandFolder) {
  return (rows: readonly string[], secrets = 'secrets.csv', ...more: readonly string[]) => {
    writeFileSync(join(folder, 'keys.csv'), [heading, ...rows, ''].join('\r\n'));
    const files = ['--from', 'keys.csv', '--secrets', secrets];
    return call('keys', 'issue', '--batch', 'autumn', ...files, ...more);
  };
}

/** The rows of a file of secrets, without its heading. */
function rowsOf(folder: string, name = 'secrets.csv'): readonly (readonly string[])[] {
  const text = readFileSync(join(folder, name), 'utf8');
  return readCsv(text)
    .rows.slice(1)
    .map(({ cells }) => cells);
}

const secret = expect.stringMatching(/^tg_[\w-]{59}$/);

describe('tollgate keys issue --batch', () => {
  it('issues a key for each row, and writes the secrets where only their owner reads', async () => {
    const folder = commandFolder();
    const full =
      'ada,staff,5,month,model-1,"calls=60/minute tokens=9/day",4,2027-01-31,"a@b.example"';
    const issued = await issuing(folder)([full, ',stuff,0.5,,,,,,']);
    const listed = JSON.parse((await folder.call('keys', 'list', '--sort', 'id', '--json')).out);

    expect([issued.code, issued.out]).toEqual([
      0,
      'Issued 2 keys. The secrets are in secrets.csv, and nowhere else.\n',
    ]);
    expect(issued.err).toContain('No model serves the group stuff.');
    expect(rowsOf(folder.folder)).toEqual([
      ['2', 'ada', 'issued', secret],
      ['3', 'autumn-2', 'issued', secret],
    ]);
    expect(statSync(join(folder.folder, 'secrets.csv')).mode & 0o777).toBe(0o600);
    expect(listed.data).toMatchObject([
      {
        ...{ id: 'ada', group: 'staff', models: ['model-1'], maxConcurrentCalls: 4 },
        rates: [{ calls: { perMinute: 60 }, tokens: { perDay: 9 } }],
        expiresAtMs: Date.UTC(2027, 0, 31),
        metadata: { user: 'a@b.example' },
        balances: [{ period: 'month', limitNanos: '5000000000' }],
      },
      { id: 'autumn-2', balances: [{ period: 'total', limitNanos: '500000000' }] },
    ]);
    expect(issued.out + issued.err).not.toMatch(/tg_[\w-]{59}/);
  });

  it('issues nothing twice, and says which keys have no secret in the file', async () => {
    const folder = commandFolder();
    const issue = issuing(folder);
    await issue([',staff,5,,,,,,', ',staff,5,,,,,,']);
    const again = await issue([',staff,5,,,,,,', ',staff,5,,,,,,', ',staff,5,,,,,,'], 'more.csv');
    const { data } = JSON.parse((await folder.call('keys', 'list', '--json')).out);

    expect(again.code).toBe(0);
    expect(again.err).toContain('2 keys existed and were left as they are');
    expect(rowsOf(folder.folder, 'more.csv')).toEqual([
      ['2', 'autumn-1', 'existed', ''],
      ['3', 'autumn-2', 'existed', ''],
      ['4', 'autumn-3', 'issued', secret],
    ]);
    expect(data).toHaveLength(3);
  });

  it('prints no secret as JSON either', async () => {
    const folder = commandFolder();
    const issued = await issuing(folder)([',staff,5,,,,,,'], 'secrets.csv', '--json');

    expect(JSON.parse(issued.out)).toMatchObject({
      ...{ batch: 'autumn', issued: 1, existed: 0, failed: 0, secrets: 'secrets.csv' },
      data: [{ row: 1, id: 'autumn-1', outcome: 'issued' }],
    });
    expect(issued.out).not.toContain('tg_');
  });

  it('issues no key if a row is wrong, and names each line', async () => {
    const folder = commandFolder();
    const issue = issuing(folder);
    const wrong = await issue(['ada,staff,5,year,,,,,', 'bob,,5,,,,,,', 'ada,staff,5,,,,,,']);
    // Only the admin library refuses these.
    const unknown = await issue(['ada,staff,5,,,,,,', `bob,${'g'.repeat(5)},5,,m m,,,,`]);
    const { data } = JSON.parse((await folder.call('keys', 'list', '--json')).out);

    expect(wrong.code).toBe(2);
    for (const line of ['line 2: period', 'line 3: group', 'line 4: id']) {
      expect(wrong.err).toContain(line);
    }
    expect(unknown.code).toBe(0);
    expect(existsSync(join(folder.folder, 'secrets.csv'))).toBe(true);
    expect(data.map(({ id }: { readonly id: string }) => id)).toEqual(['ada', 'bob']);
  });

  it('issues no key without a new file for the secrets', async () => {
    const folder = commandFolder();
    writeFileSync(join(folder.folder, 'kept.csv'), 'kept');
    symlinkSync(join(folder.folder, 'elsewhere.csv'), join(folder.folder, 'link.csv'));
    const issue = issuing(folder);
    const row = [',staff,5,,,,,,'];
    const kept = await issue(row, 'kept.csv');
    const linked = await issue(row, 'link.csv');
    const nowhere = await issue(row, 'no-folder/secrets.csv');
    const { data } = JSON.parse((await folder.call('keys', 'list', '--json')).out);

    expect([kept.code, linked.code, nowhere.code]).toEqual([2, 2, 3]);
    expect(kept.err).toContain('must be a new file');
    expect(nowhere.err).toContain('No key was issued.');
    expect(readFileSync(join(folder.folder, 'kept.csv'), 'utf8')).toBe('kept');
    expect(existsSync(join(folder.folder, 'elsewhere.csv'))).toBe(false);
    expect(data).toEqual([]);
  });

  it('names the keys whose secrets are lost if the file can’t be written', async () => {
    const folder = commandFolder();
    writeFileSync(join(folder.folder, 'keys.csv'), `${heading}\n,staff,5,,,,,,\n`);
    const { open } = await import('node:fs/promises');
    const file = await open(join(folder.folder, 'probe'), 'w');
    const methods: object = Object.getPrototypeOf(file);
    await file.close();
    const { writeFile } = Object.getOwnPropertyDescriptors(methods);
    Reflect.set(methods, 'writeFile', () =>
      Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })),
    );
    const files = ['--from', 'keys.csv', '--secrets', 'secrets.csv'];
    const failed = await folder
      .call('keys', 'issue', '--batch', 'autumn', ...files)
      .finally(() => Object.defineProperty(methods, 'writeFile', writeFile ?? {}));

    expect(failed.code).toBe(3);
    expect(failed.err).toContain('ENOSPC');
    expect(failed.err).toMatch(/secrets are lost.*\n {2}autumn-1$/m);
  });

  it.each([
    [['--batch', 'autumn'], 'needs --from FILE and --secrets FILE'],
    [['--from', 'keys.csv', '--group', 'staff', '--limit', '5'], '--from needs --batch'],
    [['--batch', 'a', '--from', 'x', '--secrets', 'y', '--group', 'staff'], '--group can’t'],
    [['--batch', 'a', '--from', 'none.csv', '--secrets', 'y'], "can't be read (ENOENT)"],
  ])('with %j is refused', async (args, sentence) => {
    const { call } = commandFolder();
    const refused = await call('keys', 'issue', ...args);

    expect(refused.code).toBe(2);
    expect(refused.err).toContain(sentence.replace('’', "'"));
  });
});
