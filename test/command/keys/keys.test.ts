// suite: slow host
/** The tasks of `tollgate keys` over SQLite: their output, their effect and their audit trail. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Called, type CommandFolder, commandFolder, sqliteConfig } from '../called.ts';

const issueArgs = ['issue', '--group', 'staff', '--limit', '5', '--period', 'month', '--id'];

describe('tollgate keys', () => {
  it('issues, limits, tops up, disables, enables and removes a key', async () => {
    const { call } = commandFolder();
    const issued = JSON.parse((await call('keys', ...issueArgs, 'ada', '--json')).out);
    const paid = ['keys', 'top-up', 'ada', '2', '--payment', 'invoice.4711'];
    const first = await call(...paid);
    await call('keys', 'limit', 'ada', '7');
    const repeated = await call(...paid);
    const disabled = await call('keys', 'disable', 'ada');
    const list = await call('keys', 'list');
    const onlyDisabled = JSON.parse((await call('keys', 'list', '--disabled', '--json')).out);
    await call('keys', 'enable', 'ada');
    const after = JSON.parse((await call('keys', 'list', '--json')).out);
    const unsure = await call('keys', 'remove', 'ada');
    const removed = await call('keys', 'remove', 'ada', '--yes');
    const none = JSON.parse((await call('keys', 'list', '--json')).out);

    expect(issued.key).toMatchObject({ id: 'ada', group: 'staff', disabled: false });
    expect([first.out, repeated.out]).toEqual(['ada has 7 left.\n', 'ada has 9 left.\n']);
    expect(disabled.out).toBe('ada is disabled.\n');
    expect(list.out).toMatch(/^ada +- +staff +disabled +month +9 +0 +0 +9 +- +-$/m);
    expect(onlyDisabled.data).toHaveLength(1);
    expect(after.data[0]).toMatchObject({
      id: 'ada',
      disabled: false,
      balances: [{ subject: 'ada', limitNanos: '9000000000', extraNanos: '2000000000' }],
    });
    expect(list.out + JSON.stringify(after)).not.toContain(issued.secret);
    expect([unsure.code, unsure.err]).toEqual([2, expect.stringContaining('--yes')]);
    expect(removed.out).toBe('ada is removed.\n');
    expect(none.data).toEqual([]);
  });

  it('warns of a group that no model has, unless the catalog can’t be read', async () => {
    const { call, write } = commandFolder();
    const issue = (id: string, group: string) =>
      call('keys', 'issue', '--group', group, '--limit', '1', '--id', id);
    const served = await issue('ada', 'staff');
    const unserved = await issue('bob', 'stuff');
    const list = await call('keys', 'list');
    write({ ...sqliteConfig(), catalog: { file: './none.json' } });
    const unknown = await issue('eve', 'stuff');

    expect([served.code, unserved.code, unknown.code]).toEqual([0, 0, 0]);
    expect(unserved.err).toContain('No model serves the group stuff.');
    expect(unserved.out).toMatch(/^tg_[\w-]{59}\n$/);
    expect(served.err + unknown.err).not.toContain('No model');
    expect(list.out).toMatch(/^bob +- +stuff +no model /m);
    expect(list.out).toMatch(/^ada +- +staff +enabled /m);
  });

  it('rotates a key: the new one is charged to the same quota, the old one expires', async () => {
    const { call } = commandFolder();
    await call('keys', ...issueArgs, 'ada');

    const rotated = await call('keys', 'rotate', 'ada', '--overlap', '24h', '--id', 'ada-2');
    const list = await call('keys', 'list');
    const [, renewed] = JSON.parse((await call('keys', 'list', '--sort', 'id', '--json')).out).data;

    expect(rotated.code).toBe(0);
    expect(rotated.out).toMatch(/^tg_[\w-]{59}\n$/);
    expect(rotated.err).toContain('ada-2 replaces ada, which expires 2026-01-02T00:00:00.000Z.');
    expect(list.out).toMatch(/^ada +- +staff +until 2026-01-02 /m);
    expect(renewed).toMatchObject({ id: 'ada-2', balances: [{ subject: 'ada' }] });
  });

  it('lists more keys than a page has, and shows its progress on a terminal', async () => {
    const { call, callOnTerminal } = commandFolder();
    for (let number = 100; number <= 200; number += 1) {
      await call('keys', ...issueArgs, `key-${number}`);
    }
    const { data } = JSON.parse((await call('keys', 'list', '--find', 'KEY-', '--json')).out);
    const shown = await callOnTerminal('keys', 'list');

    expect(data).toHaveLength(101);
    expect(shown.err).toContain('\rReading keys …\rReading keys: 100 …\rReading keys: 101 …');
    expect(shown.err).toMatch(/\r +\r$/);
    expect(shown.out.trimEnd().split('\n')).toHaveLength(102);
  });

  it('shows no balance where balances are in the memory of the gateway', async () => {
    const { call, write } = commandFolder();
    await call('keys', ...issueArgs, 'ada');
    write({ ...sqliteConfig(), stores: { sqlite: { path: './tollgate.db' }, quota: 'memory' } });

    const list = await call('keys', 'list');
    const topUp = await call('keys', 'top-up', 'ada', '2');

    expect(list.out).toMatch(/^ada +- +staff +enabled +- +- +- +- +- +- +-$/m);
    expect([topUp.code, topUp.err]).toEqual([2, expect.stringContaining('no command can reach')]);
  });

  it.each<readonly [args: readonly string[], code: number, sentence: string]>([
    [['issue', '--group', 'staff'], 2, '--limit'],
    [['issue', '--limit', '5'], 2, '--group'],
    [['issue', '--group', 'staff', '--limit', '-5'], 2, 'limit'],
    [['issue', '--group', 'staff', '--limit', '5', '--period', 'year'], 2, '--period'],
    [['issue', '--group', 'staff', '--limit', '5', '--expires', 'soon'], 2, '--expires'],
    [['top-up', 'taken', '0'], 2, 'AMOUNT must be above 0'],
    [['issue', '--group', 'staff', '--limit', '5', '--max-calls', 'x'], 2, '--max-calls'],
    [[...issueArgs, 'taken'], 1, 'The id "taken" is taken'],
    [['limit', 'taken'], 2, 'AMOUNT'],
    [['limit', 'nobody', '5'], 1, 'There is no key "nobody"'],
    [['limit', 'taken', '5', '--subject', 'other'], 1, 'not charged to that subject'],
    [['top-up', 'taken', 'x'], 2, 'must be an amount'],
    [['disable', 'nobody'], 1, 'There is no key "nobody"'],
    [['enable'], 2, 'KEY_ID'],
    [['rotate', 'nobody'], 1, 'There is no key "nobody"'],
    [['rotate', 'taken', '--overlap', '1y'], 2, '--overlap'],
    [['rotate', 'taken', '--overlap', '999d'], 2, 'overlapMs'],
    [['remove', 'nobody', '--yes'], 1, 'There is no key "nobody"'],
  ])('%j ends with %i', async (args, code, sentence) => {
    const { call } = commandFolder();
    await call('keys', ...issueArgs, 'taken');
    const ended = await call('keys', ...args);

    expect(ended.code).toBe(code);
    expect(ended.err).toContain(sentence);
  });
});

describe('the audit trail of tollgate keys', () => {
  /** Each task that changes something, and what it does to the key `ada`. */
  const changes: readonly (readonly [action: string, args: readonly string[]])[] = [
    ['key.issue', [...issueArgs, 'ada']],
    ['key.limit', ['limit', 'ada', '7']],
    ['key.top_up', ['top-up', 'ada', '2']],
    ['key.disable', ['disable', 'ada']],
    ['key.enable', ['enable', 'ada']],
    ['key.rotate', ['rotate', 'ada']],
    ['key.remove', ['remove', 'ada', '--yes']],
  ];

  it('has a line of JSON on standard error for each change, failed ones too', async () => {
    const { call } = commandFolder();
    const done = await allOf(call, changes, '--actor', 'grace');
    const failed = await call('keys', 'disable', 'ada');

    expect(done.map(({ err }) => auditLines(err))).toEqual(
      changes.map(([action]) => [
        expect.objectContaining({ event: 'audit', actor: 'grace', action, outcome: 'done' }),
      ]),
    );
    expect(auditLines(failed.err)).toMatchObject([
      { level: 'warn', actor: 'operator', action: 'key.disable', code: 'not_found' },
    ]);
    expect(done.map(({ err }) => err).join('')).not.toMatch(/tg_[\w-]{59}/);
  });

  it('goes to a file that only its owner can read, which keeps all its lines', async () => {
    const { call, write, folder } = commandFolder();
    write({ ...sqliteConfig(), audit: { file: 'audit.jsonl' } });
    const done = await allOf(call, changes);
    const path = join(folder, 'audit.jsonl');

    expect(auditLines(readFileSync(path, 'utf8'))).toMatchObject(
      changes.map(([action]) => ({ action })),
    );
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(done.flatMap(({ err }) => auditLines(err))).toEqual([]);
  });

  it('changes nothing if its file cannot be written', async () => {
    const { call, write } = commandFolder();
    write({ ...sqliteConfig(), audit: { file: 'no-folder/audit.jsonl' } });
    const refused = await call('keys', ...issueArgs, 'ada');
    write(sqliteConfig());
    const { data } = JSON.parse((await call('keys', 'list', '--json')).out);

    expect([refused.code, refused.out]).toEqual([3, '']);
    expect(refused.err).toContain("audit.file can't be written (ENOENT)");
    expect(data).toEqual([]);
  });
});

async function allOf(
  call: CommandFolder['call'],
  tasks: readonly (readonly [name: string, args: readonly string[]])[],
  ...more: readonly string[]
): Promise<readonly Called[]> {
  const done: Called[] = [];
  for (const [, args] of tasks) done.push(await call('keys', ...args, ...more));
  return done;
}

/** The lines of the audit trail among others. */
function auditLines(text: string): readonly unknown[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): unknown => JSON.parse(line));
}
