// suite: quick
/** Without a listener, a host's own mistakes are process warnings: once each, with the remedy. */
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../src/options.ts';
import type { ApiKey } from '../../src/ports/key-store.ts';
import type { DrivenCall } from '../support/driven-upstream.ts';
import { type GatewaySetup, gatewayInProcess } from '../support/gateway-in-process.ts';
import { defaultModels, sampleRequests } from '../support/models.ts';
import { takeWarnings } from '../support/process-warnings.ts';

// The harness has a listener by default.
const withoutListener: object = { onEvent: undefined };

/** The codes and texts of the warnings after three calls of a gateway without a listener. */
async function warningsOf(setup: GatewaySetup): Promise<readonly (readonly [string, string])[]> {
  const harness = gatewayInProcess({
    ...setup,
    options: { ...withoutListener, ...setup.options },
  });
  for (let call = 0; call < 3; call += 1) await harness.call(sampleRequests.chat);
  await harness.gateway.close();
  return (await takeWarnings()).map((warning) => [
    'code' in warning ? String(warning.code) : warning.name,
    warning.message,
  ]);
}

describe('without a listener', () => {
  it('a key whose limit is a number is named with its member and the remedy', async () => {
    // A host that is written in JavaScript, or that reads its keys from JSON.
    const text = '[{ "id": "caller", "period": "total", "limitNanos": 100 }]';
    const quota: ApiKey['quota'] = JSON.parse(text);
    const keys = { find: () => ({ id: 'caller', group: 'staff', disabled: false, quota }) };

    const warnings = await warningsOf({ options: { keys } });

    expect(warnings).toEqual([['TOLLGATE_PORT_FAILED', expect.stringContaining('`keys`')]]);
    expect(warnings[0]?.[1]).toContain('`quota[0].limitNanos`');
    expect(warnings[0]?.[1]).toContain('`100n`');
  });

  it.each<[string, Partial<GatewayOptions>, string]>([
    [
      'a port that throws',
      { keys: { find: () => Promise.reject(new RangeError('no')) } },
      'RangeError',
    ],
    [
      'a port that answers wrongly',
      { catalog: { find: () => JSON.parse('5'), list: () => [] } },
      '`catalog`',
    ],
    [
      'a usage log that fails',
      { usage: { record: () => Promise.reject(new Error('x')), close: async () => {} } },
      'usage log',
    ],
  ])('%s is told once', async (_name, options, text) => {
    const handlers = Array(3).fill((call: DrivenCall) => call.answer(200, {}));
    const warnings = await warningsOf({ options, handlers });

    expect(warnings).toEqual([['TOLLGATE_PORT_FAILED', expect.stringContaining(text)]]);
  });

  it('a credential that fails names its channel', async () => {
    const credential = (): Promise<string> => Promise.reject(new Error('vault'));
    const models = defaultModels().map((model) => ({
      ...model,
      channels: model.channels.map((channel) => ({ ...channel, credential })),
    }));

    const warnings = await warningsOf({ models });

    expect(warnings).toEqual([
      ['TOLLGATE_CREDENTIAL_FAILED', expect.stringContaining('"openai-a"')],
    ]);
    expect(warnings.join()).not.toContain('vault');
  });

  it('with a listener there is none', async () => {
    const keys = { find: () => Promise.reject(new Error('no')) };

    expect(await warningsOf({ options: { keys, onEvent: () => {} } })).toEqual([]);
  });
});
