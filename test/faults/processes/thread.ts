/** One of the threads of row F79: a gateway with its own stores, called that many times. */
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../../support/models.ts';

const calls = z.number().parse(workerData);
const { call, gateway, state, nextRecord } = gatewayInProcess({
  handlers: Array.from({ length: calls }, () => completeReply('chat')),
});

const statuses: number[] = [];
for (let count = 0; count < calls; count += 1) {
  statuses.push((await call(sampleRequests.chat)).status);
  await nextRecord();
}
await gateway.close();
parentPort?.postMessage({ statuses, state: await state() });
