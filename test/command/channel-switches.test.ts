// suite: slow host
/** A switch by the command reaches the processes that `serve` the same database. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { configFile } from '../../src/command/config/read.ts';
import { jsonLog } from '../../src/command/log.ts';
import { countLosses } from '../../src/command/serve/losses.ts';
import { type OpenGateway, openGateway } from '../../src/command/serve/open-gateway.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { type CommandFolder, commandFolder, surroundings } from './called.ts';

const clock = fakeClock();

async function serving({ folder }: CommandFolder): Promise<OpenGateway> {
  const file = configFile({ around: surroundings({ cwd: folder }), text: () => undefined });
  const read = (await file.open()).current();
  const losses = countLosses(jsonLog(() => {}, clock));
  return openGateway(read, { path: file.path, clock, losses });
}

function stateIn({ gateway }: OpenGateway): string {
  return gateway.channels().find(({ channelId }) => channelId === 'openai-1')?.state ?? 'ready';
}

it('a channel that the command disables is out in running and in later processes', async () => {
  const host = commandFolder();
  const running = await serving(host);

  await host.call('channels', 'disable', 'openai-1', '--actor', 'ada');
  for (let second = 0; second < 5; second += 1) {
    clock.advance(1_000);
    for (let turn = 0; turn < 200 && stateIn(running) === 'ready'; turn += 1) await nextTurn();
  }
  const later = await serving(host);

  expect([running, later].map(stateIn)).toEqual(['off', 'off']);
  const { switches, replicas } = later.gateway.cluster();
  expect(switches).toMatchObject([{ channelId: 'openai-1', isOff: true, actor: 'ada' }]);
  // The command was no replica.
  expect(replicas.length).toBe(2);
  for (const { gateway, close } of [running, later]) {
    await gateway.close({ drainMs: 1 });
    await close();
  }
});
