// suite: slow host
/** What keys may do, as `keys issue`, `edit`, `show` and `list` write and read it; and owners. */
import { describe, expect, it } from 'vitest';
import { type CommandFolder, commandFolder } from '../called.ts';

const issueArgs = ['issue', '--group', 'staff', '--limit', '1234.5', '--id'];

const keyOf = async ({ call }: CommandFolder, id: string) =>
  JSON.parse((await call('keys', 'show', id, '--json')).out);

describe('the rights of a key', () => {
  it('are stated when it is issued, and shown with its balance', async () => {
    const folder = commandFolder();
    const rights = [
      ...['--model', 'model-1', '--model', 'm:2', '--max-calls', '4', '--period', 'month'],
      ...['--anchor-day', '15', '--expires', '2027-01-31', '--metadata', 'user=a=b@c.example'],
      ...['--rate', 'calls=60/minute', '--rate', 'm:2:tokens=5/hour@group.pro'],
    ];
    await folder.call('keys', ...issueArgs, 'ada', ...rights);
    const shown = await folder.call('keys', 'show', 'ada');

    expect(await keyOf(folder, 'ada')).toMatchObject({
      ...{ models: ['model-1', 'm:2'], maxConcurrentCalls: 4, metadata: { user: 'a=b@c.example' } },
      rates: [
        { calls: { perMinute: 60 } },
        { model: 'm:2', subject: 'group.pro', tokens: { perHour: 5 } },
      ],
      balances: [{ period: 'month', anchorDay: 15 }],
      refused: [],
    });
    for (const line of [
      /^state +until 2027-01-31$/m,
      /^models +model-1 m:2$/m,
      /^rates +calls=60\/minute m:2:tokens=5\/hour@group\.pro$/m,
      /^metadata +user=a=b@c\.example$/m,
      /^ada +month from 15 2025-12\.15 +1,234\.5 +0 +0 +1,234\.5$/m,
      /^Refusals are not recorded/m,
    ]) {
      expect(shown.out).toMatch(line);
    }
  });

  it('are changed one by one, and taken away again', async () => {
    const folder = commandFolder();
    const edit = (...args: readonly string[]) => folder.call('keys', 'edit', 'ada', ...args);
    await folder.call('keys', ...issueArgs, 'ada', '--metadata', 'user=ada', '--metadata', 'a=b');
    const all = await edit(
      ...['--group', 'stuff', '--model', 'model-1', '--rate', 'calls=1/day', '--max-calls', '2'],
      ...['--expires', '2027-01-31', '--metadata', 'team=web', '--no-metadata', 'a'],
    );
    const changed = await keyOf(folder, 'ada');
    await edit('--all-models', '--no-rates', '--no-max-calls', '--no-expiry');
    const bare = await keyOf(folder, 'ada');

    expect([all.code, all.out]).toEqual([0, 'ada is changed.\n']);
    expect(all.err).toContain('No model serves the group stuff.');
    expect(changed).toMatchObject({
      ...{ group: 'stuff', models: ['model-1'], rates: [{ calls: { perDay: 1 } }] },
      ...{ maxConcurrentCalls: 2, expiresAtMs: Date.UTC(2027, 0, 31) },
      metadata: { user: 'ada', team: 'web' },
    });
    expect(bare).toMatchObject({ group: 'stuff', metadata: { user: 'ada', team: 'web' } });
    for (const name of ['models', 'rates', 'maxConcurrentCalls', 'expiresAtMs']) {
      expect(bare).not.toHaveProperty(name);
    }
  });

  it.each<readonly [args: readonly string[], code: number, sentence: string]>([
    [['edit', 'ada'], 2, 'something to change'],
    [['edit'], 2, 'KEY_ID'],
    [['edit', 'nobody', '--no-expiry'], 1, 'There is no key "nobody"'],
    [['edit', 'ada', '--no-rates', '--rate', 'calls=1/day'], 2, '--rate or --no-rates'],
    [['edit', 'ada', '--rate', 'calls=1/week'], 2, '--rate must be a limit'],
    [['edit', 'ada', '--metadata', 'user'], 2, '--metadata must be NAME=TEXT'],
    [['edit', 'ada', '--expires', '2020-01-01'], 2, 'in the past'],
    [['edit', 'ada', '--owner', 'nobody'], 2, 'owner'],
    [['issue', '--group', 'staff', '--limit', '5', '--anchor-day', '32'], 2, '--anchor-day'],
    [['issue', '--group', 'staff', '--period', 'day', '--owner', 'x'], 2, '--period needs'],
    [['list', '--sort', 'size'], 2, '--sort must be one of'],
    [['show', 'nobody'], 1, 'There is no key "nobody"'],
  ])('%j ends with %i', async (args, code, sentence) => {
    const { call } = commandFolder();
    await call('keys', ...issueArgs, 'ada');
    const ended = await call('keys', ...args);

    expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(sentence)]);
  });
});

describe('tollgate keys list', () => {
  it('finds keys by their metadata and their owner, and says so if there are none', async () => {
    const { call } = commandFolder();
    const empty = await call('keys', 'list');
    await call('owners', 'create', 'team-search', '--limit', '100');
    await call('keys', ...issueArgs, 'ada', '--metadata', 'user=user-7@example.com');
    await call('keys', ...issueArgs, 'bob', '--owner', 'team-search');
    const user = await call('keys', 'list', '--find', 'USER-7@example.com');
    const team = await call('keys', 'list', '--find', 'team-sea');
    const owned = await call('keys', 'list', '--owner', 'team-search');
    const none = await call('keys', 'list', '--find', 'eve');

    expect(empty.out).toBe('No keys are stored here. npx tollgate keys issue makes one.\n');
    expect(user.out).toMatch(/^ada .* user=user-7@example\.com$/m);
    expect(user.out).not.toMatch(/^bob /m);
    expect(team.out).toMatch(/^bob +team-search +staff /m);
    expect(owned.out).toBe(team.out);
    expect(none.out).toContain('No key matches.');
  });
});

describe('tollgate owners', () => {
  it('creates, edits, limits, tops up, shows and removes an owner', async () => {
    const { call } = commandFolder();
    const none = await call('owners', 'list');
    const made = await call(
      ...['owners', 'create', 'team-search', '--limit', '500', '--period', 'week'],
      ...['--rate', 'calls=600/minute', '--metadata', 'cost=4711', '--name', 'Search'],
    );
    await call('keys', 'issue', '--group', 'staff', '--id', 'ada', '--owner', 'team-search');
    const edited = await call('owners', 'edit', 'team-search', '--no-rates', '--disable');
    const listed = await call('keys', 'list');
    await call('owners', 'edit', 'team-search', '--enable', '--metadata', 'x=y');
    const limited = await call('owners', 'limit', 'team-search', '1800');
    const paid = ['owners', 'top-up', 'team-search', '100', '--payment', 'invoice-1'];
    const topped = await call(...paid);
    await call(...paid);
    const list = await call('owners', 'list');
    const shown = await call('owners', 'show', 'team-search');
    const named = await call('owners', 'remove', 'team-search', '--yes');
    await call('keys', 'edit', 'ada', '--no-owner');
    const unlimited = await call('owners', 'limit', 'team-search', 'none');
    await call('keys', 'remove', 'ada', '--yes');
    const removed = await call('owners', 'remove', 'team-search', '--yes');

    expect(none.out).toBe('There are no owners yet. npx tollgate owners create adds one.\n');
    expect(made.out).toBe('team-search is added.\n');
    expect(edited.out).toBe('team-search is changed.\n');
    expect(listed.out).toMatch(/^ada +team-search +staff +owner disabled /m);
    expect(limited.out).toBe('The keys of team-search may spend 1800 together.\n');
    expect(topped.out).toBe('team-search has 1,900 left.\n');
    expect(list.out).toMatch(
      /^team-search +Search +enabled +week +1,900 +0 +0 +1,900 +cost=4711 x=y$/m,
    );
    expect(shown.out).toMatch(/^rates: none$/m);
    expect(shown.out).toMatch(/^ada +team-search /m);
    expect([named.code, named.err]).toEqual([1, expect.stringContaining('Keys name this owner')]);
    expect(unlimited.out).toBe('team-search has no limit any more.\n');
    expect(removed.out).toBe('team-search is removed.\n');
  });

  it.each<readonly [args: readonly string[], code: number, sentence: string]>([
    [['create'], 2, 'OWNER_ID'],
    [['create', 'a', '--limit', 'x'], 2, 'must be an amount'],
    [['edit', 'a', '--disable', '--enable'], 2, 'not both'],
    [['edit', 'a'], 2, 'something to change'],
    [['edit', 'nobody', '--name', 'x'], 1, 'There is no owner "nobody"'],
    [['limit', 'a'], 2, 'AMOUNT'],
    [['top-up', 'a', '0'], 2, 'AMOUNT must be above 0'],
    [['remove', 'a'], 2, '--yes'],
    [['show', 'nobody'], 1, 'There is no owner "nobody"'],
  ])('%j ends with %i', async (args, code, sentence) => {
    const { call } = commandFolder();
    const ended = await call('owners', ...args);

    expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(sentence)]);
  });
});
