/** `tollgate notify test`: sends a signed test message to each endpoint of notifications. */
import type { AttemptResult } from '../notify/attempt.ts';
import { sendTest } from '../notify/notify.ts';
import { type Command, CommandError, configOption, exitCodes, type Given } from './command.ts';
import type { NotifyConfig } from './config/config.ts';
import { configFile } from './config/read.ts';
import { type Finding, printJson, progress } from './output.ts';
import { notifyOptions } from './serve/open-gateway.ts';

export const notifyTest: Command = {
  name: 'notify test',
  summary: 'send a test message to where notifications go',
  options: { config: configOption },
  about: `Posts one signed message of the type "test" to each endpoint in "notify", without
retries, and prints what came back. The exit code is 1 if one did not accept it.`,
  examples: ['npx tollgate notify test', 'npx tollgate notify test --json'],
  run,
};

async function run(given: Given): Promise<number> {
  const { around, json } = given;
  const { config } = (await configFile(given).open()).current();
  const endpoints = config.notify ?? [];
  if (endpoints.length === 0) {
    throw new CommandError(exitCodes.failed, 'The file has no "notify". Add an endpoint to it.');
  }
  const all = await progress(given, 'Sending', () =>
    Promise.all(endpoints.map((endpoint) => tried(endpoint, given))),
  );
  if (json) printJson(around, { data: all });
  for (const { state, subject, detail } of json ? [] : all) {
    around.out(`${state.padEnd(8)} ${subject}: ${detail}\n`);
  }
  return all.some(({ state }) => state === 'failed') ? exitCodes.failed : exitCodes.done;
}

async function tried(endpoint: NotifyConfig, { around }: Given): Promise<Finding> {
  const { clock } = around;
  const startMs = clock.monotonicMs();
  const result = await sendTest(notifyOptions(endpoint, clock));
  const ms = Math.round(clock.monotonicMs() - startMs);
  const subject = endpoint.name ?? new URL(endpoint.url).host;
  const state = result.kind === 'delivered' ? 'ok' : 'failed';
  return { state, subject, detail: `${meaningOf(result)} in ${ms} ms` };
}

function meaningOf(result: AttemptResult): string {
  if (result.kind === 'delivered') return `accepted it (${result.status})`;
  if (result.reason === 'timeout') return 'did not reply';
  if (result.status === undefined) return "can't be reached";
  return `refused it (${result.status})`;
}
