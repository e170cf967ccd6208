/** A host's tests under Jest without a transform: modules are required, within Jest's own realm. */
const { callGateway, expected } = require('./call-gateway.cjs');

test('a call is served, and a failure of Node’s own modules is recognised', async () => {
  const modules = {
    tollgate: require('tollgate'),
    node: require('tollgate/node'),
    testing: require('tollgate/testing'),
  };

  expect(await callGateway(modules)).toEqual(expected);
});
