/** A host's tests under `node --test` and under Vitest, whose globals have the same names. */
import { deepEqual } from 'node:assert/strict';
import * as tollgate from 'tollgate';
import * as node from 'tollgate/node';
import * as testing from 'tollgate/testing';
import { callGateway, expected } from './call-gateway.cjs';

const { test } = process.env.VITEST ? await import('vitest') : await import('node:test');

test('a call is served', async () => {
  deepEqual(await callGateway({ tollgate, node, testing }), expected);
});
