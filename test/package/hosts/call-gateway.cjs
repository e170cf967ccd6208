/**
 * What every host in this folder does with the package: it serves one call over HTTP with a key of
 * its own, and sees the same errors whichever build they come from. The host passes the modules,
 * loaded in its own way.
 */
const { createServer } = require('node:http');
const { once } = require('node:events');

/**
 * Serves the calls of `run` over HTTP. `changes` are options of the gateway. `run` gets a function
 * that sends one chat call and returns its status and JSON.
 */
async function withGateway({ tollgate, node, testing }, changes, run) {
  const upstream = await testing.startFakeUpstream();
  const key = tollgate.issueKey({ group: 'staff', limitNanos: 1_000_000_000n, period: 'month' });
  const gateway = tollgate.createGateway({
    keys: tollgate.memoryKeyStore({ keys: [key] }),
    quota: tollgate.memoryQuotaStore(),
    catalog: tollgate.staticCatalog([
      {
        id: 'model',
        groups: ['staff'],
        price: tollgate.tokenPrice({ input: '0.15', output: '0.60' }),
        maxOutputTokens: 1_000,
        channels: [
          {
            id: 'channel',
            dialect: 'openai',
            baseUrl: changes.baseUrl ?? upstream.openaiBaseUrl,
            credential: 'secret',
          },
        ],
      },
    ]),
    ...changes.options,
  });
  const server = createServer(node.nodeAdapter(gateway));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const send = async () => {
    const response = await fetch(`http://127.0.0.1:${server.address().port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'model', messages: [{ role: 'user', content: 'Hello.' }] }),
    });
    return { status: response.status, reply: await response.json() };
  };
  try {
    return await run(send);
  } finally {
    await gateway.close();
    server.closeAllConnections();
    server.close();
    await upstream.close();
  }
}

/** One call that is answered, and one whose upstream is not there. */
async function callGateway(modules) {
  const answered = await withGateway(modules, {}, (send) => send());
  const closedPort = { baseUrl: 'http://127.0.0.1:9/v1' };
  const reasons = [];
  const onEvent = (event) => {
    if (event.type === 'attempt_ended') reasons.push(event.reason);
  };
  const withEvents = { ...closedPort, options: { onEvent } };
  const failed = await withGateway(modules, withEvents, (send) => send());
  return {
    status: answered.status,
    object: answered.reply.object,
    failedStatus: failed.status,
    failedCode: failed.reply.error.code,
    failedReason: reasons[0],
  };
}

/** What {@link callGateway} must return. */
const expected = {
  status: 200,
  object: 'chat.completion',
  failedStatus: 502,
  failedCode: 'upstream_failed',
  failedReason: 'connect_refused',
};

module.exports = { callGateway, expected, withGateway };
