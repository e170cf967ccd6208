// suite: quick
/** Without a listener, a host's own mistakes are process warnings: once each, with the remedy. */
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../src/gateway-options.ts';
import type { ApiKey } from '../../src/ports/keys/key-store.ts';
import type { CallHandler, DrivenCall } from '../support/driven-upstream.ts';
import { type GatewaySetup, gatewayInProcess } from '../support/gateway-in-process.ts';
import { defaultModels, sampleRequests } from '../support/models.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';

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
    expect(warnings[0]?.[1]).toContain(
      "must be a bigint of nanos, such as money('0.15'), from 0n to 2^53 − 1, not a number",
    );
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
  ])('%s is reported once', async (_name, options, text) => {
    const handlers = Array(3).fill((call: DrivenCall) => call.answer(200, {}));
    const warnings = await warningsOf({ options, handlers });

    expect(warnings).toEqual([['TOLLGATE_PORT_FAILED', expect.stringContaining(text)]]);
  });

  it('a credential that fails names its channel', async () => {
    // The error objects of clients for credentials carry tokens.
    const error = Object.assign(new Error('the vault is sealed', { cause: new Error('s.root') }), {
      code: 'EVAULT',
      config: { headers: { authorization: 'Bearer s.root' } },
      response: 's.root',
    });
    const credential = (): Promise<string> => Promise.reject(error);
    const models = defaultModels().map((model) => ({
      ...model,
      channels: model.channels.map((channel) => ({ ...channel, credential })),
    }));

    const warnings = await warningsOf({ models });

    expect(warnings).toEqual([
      [
        'TOLLGATE_CREDENTIAL_FAILED',
        expect.stringContaining('"openai-a" failed: the vault is sealed (EVAULT).'),
      ],
    ]);
    expect(warnings.join()).not.toContain('s.root');
  });

  it.each<[string, CallHandler, string]>([
    ['a credential that is refused', (up) => up.answer(401, {}), 'upstream_auth_error, status 401'],
    ['an unknown model', (up) => up.answer(404, {}), 'upstream_model_not_found, status 404'],
    [
      'a name that is not found',
      (up) => up.breakOff('dns', { stage: 'connect' }),
      'check `baseUrl`',
    ],
    [
      'a refused connection',
      (up) => up.breakOff('connect_refused', { stage: 'connect' }),
      'check `baseUrl`, and whether the upstream runs.',
    ],
    [
      'a certificate',
      (up) => up.breakOff('tls', { stage: 'connect' }),
      'check `baseUrl` and the certificate.',
    ],
  ])('%s of an upstream is reported once', async (_name, handler, text) => {
    const warnings = await warningsOf({ handlers: [handler, handler, handler] });

    expect(warnings).toEqual([['TOLLGATE_UPSTREAM_FAILED', expect.stringContaining(text)]]);
    expect(warnings[0]?.[1]).toContain('channel "openai-a" can\'t serve the model "chat"');
  });

  it('what an own client throws is reported with its message', async () => {
    const upstream = {
      send: () => Promise.reject(new TypeError('signer.sign is not a function\n    at sign.js')),
      close: async () => {},
    };

    const warnings = await warningsOf({ options: { upstream } });

    expect(warnings).toEqual([
      [
        'TOLLGATE_UPSTREAM_FAILED',
        expect.stringContaining('(failed): signer.sign is not a function. To do: look at'),
      ],
    ]);
  });

  it('the key of one user that an upstream refuses is not the host’s mistake', async () => {
    const credential = () => ({ secret: 'sk-user', account: 'ada' });
    const models = defaultModels().map((model) => ({
      ...model,
      channels: model.channels.map((channel) => ({ ...channel, credential })),
    }));
    const handler = (up: DrivenCall) => up.answer(401, {});

    expect(await warningsOf({ models, handlers: [handler, handler, handler] })).toEqual([]);
  });

  it('with a listener there is none', async () => {
    const keys = { find: () => Promise.reject(new Error('no')) };

    expect(await warningsOf({ options: { keys, onEvent: () => {} } })).toEqual([]);
  });
});
