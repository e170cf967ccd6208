/** A failure for each alert, made on a real gateway, with the repair that the runbook names. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { jsonFileCatalog } from '../../src/catalog/json-file-catalog.ts';
import type { CallHandler } from '../support/driven-upstream.ts';
import { chat, image, replies, sampleRequests } from '../support/models.ts';
import { type FailingGateway, type Incident, replyTo } from './failing-gateway.ts';

/** A failure, and the alert that it fires. */
export interface FiringIncident extends Incident {
  readonly alert: string;
  /** The labels that the alert has beside `job`; `instance` where the cause is local. */
  readonly labels: Readonly<Record<string, string>>;
  /** The other alerts that the failure fires. */
  readonly others?: readonly string[];
}

const here = { instance: 'a:9464' } as const;
const spared = [chat({ model: 'spared' })];
const locked = [chat({ model: 'locked' })];

/** Ways in which an upstream fails that take its channel out, while another one serves. */
const outages: Readonly<Record<string, CallHandler>> = {
  'answers 500': (up) => up.answer(500, {}),
  'answers 502 with a page': (up) => up.answer(502, '<html>', { 'content-type': 'text/html' }),
  'answers 503': (up) => up.answer(503, {}),
  'answers 529': (up) => up.answer(529, {}),
  'answers 429': (up) => up.answer(429, {}),
  'answers 429 with Retry-After': (up) => up.answer(429, {}, { 'retry-after': '20' }),
  'answers 401': (up) => up.answer(401, {}),
  'answers 402': (up) => up.answer(402, {}),
  'answers 403': (up) => up.answer(403, {}),
  'does not know the model': (up) => up.answer(404, { error: { code: 'model_not_found' } }),
  'answers with a page': (up) => up.answer(200, '<html>', { 'content-type': 'text/html' }),
  'refuses connections': (up) => {
    up.dial();
    up.breakOff('connect_refused');
  },
  'resets connections': (up) => up.breakOff('reset'),
  hangs: () => {},
};

const channelsOut: readonly FiringIncident[] = Object.entries(outages).map(([how, upstream]) => ({
  alert: 'TollgateChannelOut',
  labels: { ...here, channel: 'first-channel' },
  failure: `one of two channels ${how}`,
  traffic: spared,
  begin: ({ upstreams }) => upstreams.set('first-channel', upstream),
  repair: ({ upstreams, harness }) => {
    upstreams.delete('first-channel');
    harness.gateway.enableChannel('first-channel');
  },
}));

const modelsOut: readonly FiringIncident[] = [
  {
    ...modelOut('its only account is refused', (up) => up.answer(401, {})),
    others: ['TollgateChannelOut', 'TollgateErrors'],
  },
  {
    ...modelOut('its only channel refuses connections', (up) => {
      up.dial();
      up.breakOff('connect_refused');
    }),
    others: ['TollgateChannelOut', 'TollgateErrors'],
  },
  {
    ...modelOut('an operator has disabled its only channel', replyTo),
    begin: ({ harness }) => harness.gateway.disableChannel('locked-channel'),
    others: ['TollgateErrors'],
  },
];

function modelOut(failure: string, upstream: CallHandler): FiringIncident {
  return {
    alert: 'TollgateModelOut',
    labels: { model: 'locked' },
    failure,
    traffic: locked,
    begin: ({ upstreams }) => upstreams.set('locked-channel', upstream),
    repair: ({ upstreams, harness }) => {
      upstreams.delete('locked-channel');
      harness.gateway.enableChannel('locked-channel');
    },
  };
}

const calls: readonly FiringIncident[] = [
  {
    alert: 'TollgateRefusals',
    labels: { code: 'invalid_key' },
    failure: 'callers send an old key',
    begin: (gateway) => {
      gateway.traffic = [sampleRequests.chat, { ...sampleRequests.chat, withoutKey: true }];
    },
    repair: () => {},
  },
  {
    ...upstreamIncident('TollgateErrors', 'replies break off', 'chat-channel', (up) => {
      up.respond(200, { 'content-type': 'application/json' });
      up.write(replies.chat.slice(0, -1));
      up.end();
    }),
    labels: { model: 'chat' },
    others: ['TollgateChannelOut'],
  },
  {
    alert: 'TollgateFirstByteSlow',
    labels: { model: 'chat' },
    failure: 'streams begin after 12 s',
    traffic: [sampleRequests.chatStream],
    begin: ({ upstreams, harness }) =>
      upstreams.set('chat-channel', (up) => {
        const stop = harness.clock.every(12_000, () => {
          stop();
          replyTo(up);
        });
      }),
    repair: ({ upstreams }) => upstreams.delete('chat-channel'),
  },
  {
    ...upstreamIncident('TollgateInDoubt', 'images get no answer', 'image-channel', (up) =>
      up.breakOff('headers_timeout', { timedOut: true }),
    ),
    labels: here,
    traffic: [sampleRequests.chat, image()],
    others: ['TollgateChannelOut', 'TollgateErrors', 'TollgateModelOut'],
  },
  {
    ...upstreamIncident('TollgateUsageAnomalies', 'usage is missing', 'chat-channel', (up) => {
      const { usage: _missing, ...withoutUsage } = JSON.parse(replies.chat);
      up.answer(200, withoutUsage);
    }),
    labels: { reason: 'missing' },
    minutes: 30,
    minutesAfter: 40,
  },
  {
    alert: 'TollgatePriceBelowCost',
    labels: { model: 'open' },
    failure: 'a model costs more than its price',
    begin: (gateway) => {
      gateway.traffic = [chat({ model: 'open' })];
    },
    repair: () => {},
    minutes: 40,
    minutesAfter: 64,
  },
];

function upstreamIncident(
  alert: string,
  failure: string,
  channelId: string,
  upstream: CallHandler,
): Omit<FiringIncident, 'labels'> {
  return {
    ...{ alert, failure },
    begin: ({ upstreams }) => upstreams.set(channelId, upstream),
    repair: ({ upstreams }) => upstreams.delete(channelId),
  };
}

const stores: readonly FiringIncident[] = [
  {
    ...storeIncident('TollgateQuotaStoreDown', 'the quota store fails', 'reserveIsDown'),
    labels: { ...here, port: 'quota' },
    others: ['TollgateRefusals'],
  },
  {
    ...storeIncident('TollgatePortFailing', 'the key store fails', 'keysAreDown'),
    labels: { ...here, port: 'keys', operation: 'find' },
    others: ['TollgateRefusals'],
  },
  {
    ...storeIncident('TollgateOutboxWaiting', 'charges are not accepted', 'settleIsDown'),
    labels: here,
    minutes: 8,
    others: ['TollgateQuotaStoreDown'],
  },
  {
    ...storeIncident('TollgateSettlementLost', 'charges were not accepted in time', 'settleIsDown'),
    labels: here,
    others: ['TollgateQuotaStoreDown', 'TollgateOutboxWaiting'],
    minutes: 20,
    minutesAfter: 64,
  },
  {
    ...storeIncident('TollgateStoreSlow', 'the quota store is slow', 'releaseIsSlow'),
    labels: { ...here, port: 'quota', operation: 'release' },
    begin: ({ faults, upstreams }) => {
      faults.releaseIsSlow = true;
      // Only a call that was refused releases its hold.
      upstreams.set('chat-channel', (up) => up.answer(400, {}));
    },
    repair: ({ faults, upstreams }) => {
      faults.releaseIsSlow = false;
      upstreams.delete('chat-channel');
    },
  },
  {
    alert: 'TollgateInternalError',
    labels: here,
    failure: 'the record of a model is changed during its call',
    begin: (gateway) => {
      gateway.traffic = [chat({ model: 'changed' })];
      gateway.upstreams.set('changed-channel', (up) => {
        gateway.faults.recordIsChanged = true;
        replyTo(up);
      });
    },
    repair: ({ upstreams }) => upstreams.delete('changed-channel'),
    minutesAfter: 64,
  },
];

function storeIncident(
  alert: string,
  failure: string,
  fault: keyof FailingGateway['faults'],
): Omit<FiringIncident, 'labels'> {
  return {
    ...{ alert, failure },
    begin: ({ faults }) => {
      faults[fault] = true;
    },
    repair: ({ faults }) => {
      faults[fault] = false;
    },
  };
}

const operators: readonly FiringIncident[] = [
  catalogIncident(),
  {
    alert: 'TollgateConfigStale',
    labels: here,
    failure: 'the configuration file of serve is invalid',
    begin: ({ metrics }) =>
      metrics.onEvent({ type: 'config_refused', source: 'tollgate.json', reason: 'invalid' }),
    repair: ({ metrics }) => metrics.onEvent({ type: 'config_loaded', source: 'tollgate.json' }),
  },
  {
    alert: 'TollgateClosing',
    labels: here,
    failure: 'a process that shuts down does not end',
    begin: (gateway) => {
      gateway.traffic = [];
      return gateway.harness.gateway.close();
    },
    repair: (gateway) => {
      gateway.isGone = true;
    },
  },
  {
    alert: 'TollgateDown',
    labels: here,
    failure: 'a process does not answer',
    begin: (gateway) => {
      gateway.isDown = true;
    },
    repair: (gateway) => {
      gateway.isDown = false;
    },
  },
];

/** Only a real catalog says what it does with an invalid file. */
function catalogIncident(): FiringIncident {
  let path = '';
  const valid = JSON.stringify({ models: [] });
  let changed = (): void => {};
  const write = async ({ harness }: FailingGateway, text: string): Promise<void> => {
    let isRead = false;
    changed = () => {
      isRead = true;
    };
    writeFileSync(path, text);
    while (!isRead) {
      harness.clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return {
    alert: 'TollgateCatalogStale',
    labels: here,
    failure: 'the file of the catalog is invalid',
    begin: async (gateway) => {
      const folder = mkdtempSync(join(tmpdir(), 'tollgate-catalog-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      path = join(folder, 'models.json');
      writeFileSync(path, valid);
      const { metrics, harness } = gateway;
      await jsonFileCatalog({
        ...{ path, clock: harness.clock },
        onEvent: (event) => {
          metrics.onEvent(event);
          changed();
        },
      });
      await write(gateway, '{');
    },
    repair: (gateway) => write(gateway, `${valid}\n`),
  };
}

/** All failures. */
export const incidents: readonly FiringIncident[] = [
  ...modelsOut,
  ...channelsOut,
  ...calls,
  ...stores,
  ...operators,
];
