// suite: slow host
/**
 * The commands that change a running process: what they say arrives at its admin interface, with
 * the token alone, and what that refuses is said.
 */
import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AdminOptions, adminHandler } from '../../src/admin/index.ts';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { defaultPartition } from '../../src/ports/quota-input.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { adminSetup } from '../admin/admin-host.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, model } from '../support/models.ts';
import { closed, listening } from '../support/servers.ts';
import { type CommandFolder, commandFolder, sqliteConfig } from './called.ts';

const token = 'the-token-of-the-scripts-0123456789';
const heldNanos = 50_000_000n;

/** A process with a call in doubt, and a folder with its configuration. */
async function running(options: Partial<Pick<AdminOptions, 'catalog'>> = {}) {
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
  const { admin, entries } = adminSetup({ gateway, quota, usage, ...options });
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
  host.write({ ...sqliteConfig(), admin });
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

  it('say how a channel is switched everywhere, how soon and how to undo it', async () => {
    const weights = new Map([
      ['chat', 3],
      ['image', 1],
    ]);
    const ids = [...weights.keys()];
    const { call } = await running({
      catalog: {
        ...staticCatalog([]),
        models: () =>
          ids.map((id) => model({ id, channels: [channel({ weight: weights.get(id) ?? 0 })] })),
        changeChannel: async (_id, { weight = 1 }) => {
          for (const id of ids) weights.set(id, weight);
          return ids;
        },
      },
    });
    const disabled = await call('channels', 'disable', 'openai-a', '--everywhere');
    const [off] = weights.values();
    const undo = /Undo: npx tollgate (.*--everywhere)/.exec(disabled.out)?.[1] ?? '';
    const enabled = await call(...undo.split(' '));
    const help = await call('channels', 'disable', '--help');

    expect(disabled.out).toContain('everywhere: the weight 0 in chat (was 3), image (was 1).');
    expect(disabled.out).toContain('others stop within 2 s');
    expect(off).toBe(0);
    expect(enabled.out).toContain('everywhere: the weight 1 in chat (was 0), image (was 0).');
    expect([...weights.values()]).toEqual([1, 1]);
    expect(help.out).toMatch(/lasts, also over restarts, until the channel gets a weight/);
    expect((await call('channels', 'enable', 'openai-a')).out).toMatch(/in this process\.\n$/);
  });

  it('say what the process refuses', async () => {
    const { call } = await running();
    const unknown = await call('channels', 'disable', 'openai-z');
    const everywhere = await call('channels', 'enable', 'openai-a', '--everywhere');

    expect(unknown).toMatchObject({ code: 1, out: '' });
    expect(unknown.err).toBe('tollgate: There is no channel "openai-z".\n');
    expect(everywhere.err).toMatch(/^tollgate: The catalog can’t be changed here\./);
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
    const none = await commandFolder().call('channels', 'enable', 'openai-1');

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
