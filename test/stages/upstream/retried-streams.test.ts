// suite: quick
/** A call that was retried counts against the budget of retries until its reply begins. */
import { expect, it } from 'vitest';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, model, sampleRequests, streamBeginnings } from '../../support/models.ts';

const fails: CallHandler = (up) => up.answer(500, { error: { message: 'No.' } });
const begins: CallHandler = (up) => {
  up.respond(200, { 'content-type': 'text/event-stream' });
  up.write(streamBeginnings.chatStream);
};

it('streams that were retried and are still open leave the budget to later calls', async () => {
  const streams = 10;
  const channels = Array.from({ length: 2 * streams }, (_, n) =>
    channel({ id: `account-${n}`, baseUrl: `https://account-${n}.example/v1`, priority: n }),
  );
  const running = gatewayInProcess({
    handlers: Array.from({ length: streams }, () => [fails, begins]).flat(),
    models: [model({ id: 'chat', channels })],
  });

  const calls = [];
  for (let n = 0; n < streams; n += 1) {
    const call = running.start(sampleRequests.chatStream);
    calls.push(call);
    const refused = call.reply.then(({ status }) => `refused with ${status}`);
    expect(await Promise.race([call.firstBytes, refused])).toContain('data: ');
  }

  expect(running.upstream.calls.map(({ status }) => status)).toEqual(
    Array.from({ length: streams }, () => [500, 200]).flat(),
  );
  for (const call of calls) call.disconnect();
});
