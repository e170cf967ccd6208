/** One of the threads of row F79: a gateway with its own stores, called that many times. */
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { scene } from '../stages/scene.ts';
import { ask, whole } from '../stages/scene-models.ts';

const calls = z.number().parse(workerData);
const { call, gateway, state, nextRecord } = scene({
  plays: Array.from({ length: calls }, () => whole('chat')),
});

const statuses: number[] = [];
for (let count = 0; count < calls; count += 1) {
  statuses.push((await call(ask.chat)).status);
  await nextRecord();
}
await gateway.close();
parentPort?.postMessage({ statuses, state: await state() });
