/** `tollgate check`: tries everything that a configuration names, before callers do. */

import { checkChannels } from './check-channels.ts';
import { spendOnce } from './check-spend.ts';
import { checkStores } from './check-stores.ts';
import { type Command, configOption, exitCodes, type Given } from './command.ts';
import { configFile } from './config-file.ts';
import type { Finding } from './finding.ts';
import { allModels } from './models.ts';
import { printJson, progress } from './output.ts';
import { type OpenStores, withStores } from './with-stores.ts';

/** The command. */
export const check: Command = {
  name: 'check',
  summary: 'try the configuration, the stores and the channels',
  options: {
    config: configOption,
    spend: {
      type: 'boolean',
      text: 'also send a short call through each channel, which costs money',
    },
  },
  about: `Checks that the configuration is valid, that the stores can be reached and have the right
tables and settings (Redis: maxmemory-policy noeviction, appendonly), that clocks agree, and
that each channel accepts its credential (GET /models, which is free). With --spend it sends a
real call of a few tokens through each channel; no key of yours is charged for it.
The exit code is 1 if a check failed; warnings do not count.`,
  examples: ['npx tollgate check --config tollgate.json', 'npx tollgate check --spend --json'],
  run,
};

async function run(given: Given): Promise<number> {
  const findings = await findingsOf(given);
  if (given.json) printJson(given.around, { data: findings });
  const hasFailed = findings.some(({ state }) => state === 'failed');
  if (hasFailed) return exitCodes.failed;
  return exitCodes.done;
}

function findingsOf(given: Given): Promise<readonly Finding[]> {
  const look = async (open: OpenStores): Promise<readonly Finding[]> => {
    const all: Finding[] = [];
    const add = (found: readonly Finding[]): void => {
      all.push(...found);
      if (given.json) return;
      for (const { state, subject, detail } of found) {
        given.around.out(`${state.padEnd(8)} ${subject}: ${detail}\n`);
      }
    };
    const step = async (text: string, work: () => Promise<readonly Finding[]>): Promise<void> => {
      add(await progress(given, text, work));
    };
    add([{ state: 'ok', subject: configFile(given).name, detail: 'valid' }]);
    await step('Checking the stores', () => checkStores(open, given.around.clock));
    const models = await allModels(open.read, open.databases, open.path);
    await step('Asking the upstreams', () => checkChannels(models, given.around.clock));
    if (given.has('spend')) {
      await step('Calling the upstreams', () => spendOnce(models, given.around.clock));
    }
    return all;
  };
  // A check changes nothing.
  return withStores(given, look, { asFound: true });
}
