/** A host whose modules are CommonJS. */
const { deepEqual } = require('node:assert/strict');
const { callGateway, expected } = require('./call-gateway.cjs');

const modules = {
  tollgate: require('tollgate'),
  node: require('tollgate/node'),
  testing: require('tollgate/testing'),
};

callGateway(modules).then((result) => deepEqual(result, expected));
