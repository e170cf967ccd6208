/**
 * The console over an admin library whose results a test chooses. The handler in front of it is the
 * real one, so the page gets the real headers and JSON. Keys and their balances are real too.
 */
import { createServer } from 'node:http';
import { type Admin, type AdminAccess, AdminError, type Now } from '../../../src/admin/index.ts';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import { consoleHandler } from '../../../src/console/index.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import type { MemoryKeyStore } from '../../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { type FakeClock, fakeClock } from '../../../src/testing/fake-clock.ts';
import { type AdminSetup, adminSetup } from '../../admin/admin-host.ts';
import { defaultModels } from '../../support/models.ts';
import { closed, listening } from '../../support/servers.ts';
import { auditRecords, fakeCatalog } from './catalog.ts';
import { fakeChannels } from './channels.ts';
import { call, callPage, dayNow, detail, nowMs, refusal, wellNow } from './data.ts';
import { fakeUsage } from './usage.ts';

/** The results of the fake; tests change its members. */
export interface FakeState {
  title: string;
  now: Now;
  /** The figures of 24 hours. */
  day: Now;
  /** Who is signed in; undefined after a sign-out. */
  access: AdminAccess | undefined;
  calls: Admin['calls'];
  usage: Admin['usage'];
  channels: Admin['channels'];
  refusals: Admin['refusals'];
  catalog: Admin['catalog'];
  audit: Pick<Admin['audit'], 'list'>;
  capabilities: Partial<Admin['capabilities']>;
}

/** A console at `url`. */
export interface FakeConsole {
  readonly url: string;
  readonly state: FakeState;
  readonly keys: MemoryKeyStore;
  readonly quota: QuotaStore;
  readonly admin: Admin;
  readonly emit: AdminSetup['emit'];
  /** Advancing it by 2 s sends the live figures again. */
  readonly clock: FakeClock;
  /** How many streams of live figures are open. */
  streams(): number;
  /** The changes that the page has made, as the audit trail has them. */
  audited(): readonly string[];
  /** Ends all connections and refuses new ones until `up`. */
  down(): void;
  up(): void;
  close(): Promise<void>;
}

/** Starts the console. */
export async function fakeConsole(change: Partial<FakeState> = {}): Promise<FakeConsole> {
  const clock = fakeClock(nowMs);
  const quota = memoryQuotaStore({ clock });
  const groups = ['default', 'batch'];
  const catalog = staticCatalog(defaultModels().map((model) => ({ ...model, groups })));
  const { admin: real, keys, entries, emit } = adminSetup({ clock, quota, catalog });
  const state: FakeState = {
    title: 'Acme gateway',
    now: wellNow(),
    day: dayNow(),
    access: { actor: 'ada@acme.example', can: 'manage' },
    calls: fakeCalls(real),
    usage: fakeUsage(real.usage),
    channels: fakeChannels(real.channels),
    refusals: real.refusals,
    catalog: fakeCatalog(real.catalog),
    audit: { list: async () => ({ data: auditRecords(), next: undefined, source: 'log' }) },
    capabilities: {},
    ...change,
  };
  const admin = fakeAdmin(real, state);
  const handler = consoleHandler(admin, { path: '/console', authorize: () => state.access });
  let isDown = false;
  let streams = 0;
  const server = createServer((request, response) => {
    if (request.url?.includes('/api/events') === true) {
      streams += 1;
      response.once('close', () => {
        streams -= 1;
      });
    }
    if (isDown) request.socket.destroy();
    else void handler(request, response);
  });
  const origin = await listening(server);
  return {
    url: `${origin}/console`,
    state,
    keys,
    quota,
    admin,
    emit,
    clock,
    streams: () => streams,
    audited: () => entries.map(({ action, target, outcome }) => `${outcome} ${action} ${target}`),
    down: () => {
      isDown = true;
      server.closeAllConnections();
    },
    up: () => {
      isDown = false;
    },
    close: () => closed(server),
  };
}

/**
 * The real library, except for what a test replaces. Members are read when a request needs them.
 */
function fakeAdmin(real: Admin, state: FakeState): Admin {
  return {
    ...real,
    now: async (range = '1h') => (range === '24h' ? state.day : { ...state.now, range }),
    get title() {
      return state.title;
    },
    get calls() {
      return state.calls;
    },
    get usage() {
      return state.usage;
    },
    get refusals() {
      return state.refusals;
    },
    get channels() {
      return state.channels;
    },
    get catalog() {
      return state.catalog;
    },
    get audit() {
      return { ...real.audit, ...state.audit };
    },
    get capabilities() {
      return { ...real.capabilities, ...allCapabilities, ...state.capabilities };
    },
  };
}

const allCapabilities = {
  ...{ usageReports: true, usageRecords: true, refusalReports: true },
  ...{ changeChannels: true, changePrices: true },
};

function fakeCalls(real: Admin): Admin['calls'] {
  return {
    ...real.calls,
    list: async ({ code, outcome, after } = {}) => {
      if (code !== undefined || outcome === 'refused') {
        const named = code === undefined ? {} : { code };
        const data = Array.from({ length: 30 }, (_, index) => ({ ...refusal(index), ...named }));
        return { data, next: undefined, source: 'process' };
      }
      if (after !== undefined) {
        const data = Array.from({ length: 40 }, (_, index) => call(index + 40));
        return { data, next: undefined, source: 'log' };
      }
      const page = callPage();
      const data = page.data.filter((row) => outcome === undefined || outcomeOf(row) === outcome);
      return { ...page, data };
    },
    find: async (requestId) => {
      const found = callPage().data.find((row) => row.requestId === requestId);
      if (found?.kind !== 'call') throw new AdminError('not_found', `No call ${requestId}.`);
      return { requestId, calls: [detail(found)], refusals: [] };
    },
  };
}

function outcomeOf(row: ReturnType<typeof callPage>['data'][number]): string | undefined {
  return row.kind === 'call' ? row.outcome : undefined;
}
