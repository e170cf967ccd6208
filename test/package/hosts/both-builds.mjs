/**
 * A host that loads both builds: one module imports the package, another requires it. The errors
 * of either build mean the same to the other.
 */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as imported from 'tollgate';
import * as importedNode from 'tollgate/node';
import * as importedPorts from 'tollgate/ports';
import * as importedTesting from 'tollgate/testing';
import { withGateway } from './call-gateway.cjs';

const require = createRequire(import.meta.url);
const required = require('tollgate');
const builds = [
  {
    own: { tollgate: imported, node: importedNode, testing: importedTesting },
    other: { ...required, ...require('tollgate/ports') },
  },
  {
    own: {
      tollgate: required,
      node: require('tollgate/node'),
      testing: require('tollgate/testing'),
    },
    other: { ...imported, ...importedPorts },
  },
];

notEqual(imported.createGateway, required.createGateway);
for (const { own, other } of builds) {
  const { tollgate } = own;

  const unavailable = () => {
    throw new other.StoreUnavailable('the store is down', { outcome: 'not_done' });
  };
  const released = [];
  const quota = {
    ...tollgate.memoryQuotaStore(),
    reserve: unavailable,
    release: (input) => released.push(input),
  };
  const down = await withGateway(own, { options: { quota } }, (send) => send());
  equal(down.status, 503);
  equal(down.reply.error.code, 'store_unavailable');
  deepEqual(released, [], 'nothing was held, so nothing is released');

  const upstream = {
    send: () => Promise.reject(new other.UpstreamError('connect', 'refused')),
    close: () => Promise.resolve(),
  };
  const failed = await withGateway(own, { options: { upstream } }, (send) => send());
  equal(failed.status, 502);

  // Each build accepts the other's stores and keys.
  const mixed = { options: { quota: other.memoryQuotaStore() } };
  equal((await withGateway(own, mixed, (send) => send())).status, 200);

  try {
    other.createGateway({});
    ok(false, 'a gateway without options was created');
  } catch (error) {
    ok(tollgate.isConfigurationError(error));
    ok(!(error instanceof tollgate.ConfigurationError));
  }
}
