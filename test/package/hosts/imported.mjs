/** A host whose modules are ES modules. */
import { deepEqual } from 'node:assert/strict';
import * as tollgate from 'tollgate';
import * as node from 'tollgate/node';
import * as testing from 'tollgate/testing';
import { callGateway, expected } from './call-gateway.cjs';

deepEqual(await callGateway({ tollgate, node, testing }), expected);
