// suite: slow host
/**
 * The commands that change a running process: what they say arrives at its admin interface, with
 * the token alone, and what that refuses is said.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { adminHandler } from '../../../src/admin/index.ts';
import { defaultPartition } from '../../../src/ports/limits/quota-input.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { usageRecord } from '../../../src/testing/contracts/usage-sink.ts';
import { adminSetup } from '../../admin/admin-host.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { closed, listening } from '../../support/servers.ts';
import { type CommandFolder, commandFolder, sqliteConfig } from '../called.ts';
import { modelAt } from './served.ts';

const token = 'the-token-of-the-scripts-0123456789';
const heldNanos = 50_000_000n;

/** A process with a call in doubt, and a folder with its configuration. */
async function running() {
  const quota = memoryQuotaStore();
  const line = { subject: 'ada', period: '', amount: heldNanos };
  await quota.reserve({
    ...{ id: 'hold-of-the-call-1', partition: defaultPartition, ttlMs: 60_000 },
    ...{ onExpire: 'release', lines: [{ ...line, limit: 10n * heldNanos }] },
  });
  const doubt = usageRecord({
    ...{ requestId: 'req 1', reservationId: 'hold-of-the-call-1', outcome: 'unknown' },
    ...{ booked: false, heldNanos, lines: [{ subject: 'ada', period: '', heldNanos }] },
  });
  const usage = { usageRecords: () => ({ records: [doubt], next: undefined }) };
  const { gateway } = gatewayInProcess({ store: () => quota });
  const { admin, entries } = adminSetup({ gateway, quota, usage });
  const server = createServer(
    adminHandler(admin, {
      path: '/console',
      authorize: ({ headers }) =>
        headers.authorization === `Bearer ${token}`
          ? { actor: 'bot', can: 'manage', via: 'token' }
          : undefined,
    }),
  );
  const { port } = new URL(await listening(server));
  onTestFinished(() => closed(server));
  const used = async () => (await quota.read('ada', '', defaultPartition))?.used;
  return { ...folderFor(port), port, gateway, entries, used };
}

function folderFor(port: string, given = token): CommandFolder {
  const host = commandFolder({ env: { KEY: 'the-account-key', ADMIN_TOKEN: given } });
  const admin = { port: Number(port), token: '\u0024{ADMIN_TOKEN}' };
  // Without a database, the process alone can switch its channels.
  host.write({ catalog: { models: [modelAt('http://127.0.0.1:9/v1')] }, admin });
  return host;
}

describe('channels disable and enable', () => {
  it('switch a channel in the process', async () => {
    const { call, gateway, entries } = await running();
    const state = () => gateway.channels().find(({ channelId }) => channelId === 'openai-a')?.state;

    expect(await call('channels', 'disable', 'openai-a')).toEqual({
      code: 0,
      out:
        'openai-a is disabled in this process, until it ends. ' +
        'Undo: npx tollgate channels enable openai-a.\n',
      err: '',
    });
    expect(state()).toBe('off');
    const enabled = await call('channels', 'enable', 'openai-a', '--json');
    expect(JSON.parse(enabled.out)).toMatchObject({ channelId: 'openai-a', where: 'process' });
    expect(state()).toBe('ready');
    expect(entries.map(({ actor, action }) => [actor, action])).toEqual([
      ['bot', 'channel.disable'],
      ['bot', 'channel.enable'],
    ]);
  });

  it('say what the process refuses', async () => {
    const { call } = await running();
    const unknown = await call('channels', 'disable', 'openai-z');

    expect(unknown).toMatchObject({ code: 1, out: '' });
    expect(unknown.err).toBe('tollgate: There is no channel "openai-z".\n');
  });
});

describe('channels disable and enable with a database', () => {
  it('are a row that every process follows, by whoever ran the command', async () => {
    const folder = commandFolder();
    folder.write({ ...sqliteConfig(), audit: { file: './audit.jsonl' } });
    const { call } = folder;

    expect(await call('channels', 'disable', 'openai-1', '--actor', 'ada')).toEqual({
      code: 0,
      out:
        'openai-1 is disabled in all processes, within 5 s. ' +
        'Undo: npx tollgate channels enable openai-1.\n',
      err: '',
    });
    expect((await call('channels', 'disable', 'openai-z')).err).toMatch(/no channel "openai-z"/);
    const enabled = await call('channels', 'enable', 'openai-1', '--actor', 'bob', '--json');

    expect(JSON.parse(enabled.out)).toEqual({ channelId: 'openai-1', where: 'everywhere' });
    const audited = readFileSync(`${folder.folder}/audit.jsonl`, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(audited.map(({ actor, action, outcome }) => `${actor} ${action} ${outcome}`)).toEqual([
      'ada channel.disable done',
      expect.stringContaining('channel.disable failed'),
      'bob channel.enable done',
    ]);
  });
});

describe('calls resolve', () => {
  it.each([
    [['--not-run'], 0n],
    [['--ran'], heldNanos],
    [['--ran', '--charge', '0.02'], 20_000_000n],
    [['--ran', '--reservation', 'hold-of-the-call-1'], heldNanos],
  ] as const)('%j ends the hold of the call', async (options, charge) => {
    const { call, used } = await running();

    expect(await call('calls', 'resolve', 'req 1', ...options)).toEqual({
      ...{ code: 0, out: 'req 1 is resolved.\n', err: '' },
    });
    expect(await used()).toBe(charge);
  });

  it.each([
    [[], 'Give either --ran or --not-run.'],
    [['--ran', '--not-run'], 'Give either --ran or --not-run.'],
    [['--not-run', '--charge', '1'], '--charge is for --ran alone.'],
    [['--ran', '--charge', '1,5'], '"1,5" must be an amount such as 5 or 0.50, up to 9007199.'],
  ] as const)('refuses %j', async (options, sentence) => {
    const { call, used } = await running();

    expect(await call('calls', 'resolve', 'req 1', ...options)).toEqual({
      ...{ code: 2, out: '', err: `tollgate: ${sentence}\n` },
    });
    expect(await used()).toBe(0n);
  });
});

describe('a command that changes the process', () => {
  it.each([
    ['calls resolve', 'REQUEST_ID'],
    ['channels enable', 'CHANNEL_ID'],
    ['channels disable', 'CHANNEL_ID'],
  ])('%s needs its %s', async (command, name) => {
    const { call } = commandFolder();

    expect(await call(...command.split(' '))).toMatchObject({
      ...{ code: 2, err: `tollgate: ${name} is missing.\n` },
    });
  });

  it('says that it could not reach the process, or has no token', async () => {
    const { port } = new URL(await closedPort());
    const off = await folderFor(port).call('channels', 'enable', 'openai-1');
    const none = await commandFolder().call('calls', 'resolve', 'req_1', '--not-run');

    expect(off).toMatchObject({ code: 3, out: '' });
    expect(off.err).toMatch(/Nothing was changed: no process answers at .* \(connect_refused\)/);
    expect(none.err).toBe('tollgate: Nothing was changed: admin.token is not configured.\n');
  });

  it('says that its token is not the one of the process', async () => {
    const { port, entries } = await running();
    const other = folderFor(port, 'another-token-of-scripts-0123456789');

    expect(await other.call('channels', 'disable', 'openai-a')).toMatchObject({
      ...{ code: 1, err: 'tollgate: The process that runs has another admin.token.\n' },
    });
    expect(entries).toEqual([]);
  });
});

/** A port that nothing listens on. */
async function closedPort(): Promise<string> {
  const server = createServer();
  const origin = await listening(server);
  await closed(server);
  return origin;
}
