// suite: slow host
/**
 * The configuration file under a running gateway: whatever happens to the file, its last valid
 * version is applied.
 */
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { configFile } from '../../../src/command/config/read.ts';
import { jsonLog } from '../../../src/command/log.ts';
import { countLosses } from '../../../src/command/serve/losses.ts';
import { openGateway } from '../../../src/command/serve/open-gateway.ts';
import { type LiveConfig, liveConfig } from '../../../src/command/serve/serve.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { commandFolder, surroundings } from '../called.ts';
import { modelAt } from './served.ts';

type Change = (path: string, text: string) => void;

/** What may become of the file. */
const changes: readonly (readonly [name: string, isValid: boolean, change: Change])[] = [
  ['half written', false, (path, text) => writeFileSync(path, text.slice(0, text.length / 2))],
  ['empty', false, (path) => writeFileSync(path, '')],
  ['removed', false, () => {}],
  ['another file', false, (path) => writeFileSync(path, '{"name":"x"}')],
  ['binary', false, (path) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0, 1]))],
  ['a folder', false, (path) => mkdirSync(path)],
  ['without a variable', false, (path, text) => writeFileSync(path, text.replace('KEY', 'GONE'))],
  ['an invalid model', false, (path, text) => writeFileSync(path, text.replace('staff', ''))],
  ['written anew', true, (path, text) => writeFileSync(path, text)],
  [
    'replaced by a rename',
    true,
    (path, text) => {
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    },
  ],
];

describe('a configuration file that changes', () => {
  it.each(['poll', 'reload'] as const)('is applied by %s if it is valid', async (how) => {
    const { path, live, model, out } = await runningGateway();
    let expected = 'gpt-4o-mini';
    // Each state follows each state once.
    for (const [first, before] of changes.entries()) {
      for (const [second, after] of changes.entries()) {
        for (const [name, isValid, change] of [before, after]) {
          const id = `model-${first}-${second}-${name.replaceAll(' ', '-')}`;
          rmSync(path, { recursive: true, force: true });
          change(path, textWith(id));
          await live[how]();
          if (isValid) expected = id;

          expect([before[0], name, model()]).toEqual([before[0], name, expected]);
        }
      }
    }

    expect(out()).toContain('config_refused');
    expect(out()).toContain('config_loaded');
    expect(out()).not.toMatch(/the-account-key|\/tmp/);
  });

  it('is not applied again if it is only copied or touched', async () => {
    const { path, live, out } = await runningGateway();
    await live.poll();
    await live.poll();
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    await live.poll();
    await live.poll();

    expect(existsSync(path)).toBe(true);
    expect(out()).not.toContain('config_refused');
  });

  it('needs a restart while it differs from the one at the start, and no longer', async () => {
    const { path, live, out } = await runningGateway();
    const namedAfter = async (model: string, more: object): Promise<unknown> => {
      const before = out().length;
      writeFileSync(path, JSON.stringify({ ...JSON.parse(textWith(model)), ...more }));
      await live.reload();
      const lines = out()
        .slice(before)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      return lines.find(({ event }) => event === 'config_needs_restart')?.members;
    };

    expect(await namedAfter('a', { listen: { port: 1 } })).toEqual(['listen']);
    expect(await namedAfter('b', { listen: { port: 1 } })).toEqual(['listen']);
    expect(await namedAfter('c', {})).toBeUndefined();
  });
});

function textWith(model: string): string {
  return JSON.stringify({ catalog: { models: [modelAt('http://127.0.0.1:9/v1', model)] } });
}

/** A gateway over a file, and the only model that it serves now. */
async function runningGateway(): Promise<{
  readonly path: string;
  readonly live: LiveConfig;
  readonly model: () => string | undefined;
  readonly out: () => string;
}> {
  let text = '';
  const { folder } = commandFolder();
  const path = join(folder, 'tollgate.json');
  writeFileSync(path, textWith('gpt-4o-mini'));
  const clock = fakeClock();
  const log = jsonLog((line) => {
    text += line;
  }, clock);
  const file = configFile({ around: surroundings({ cwd: folder }), text: () => undefined });
  const watch = await file.open();
  const losses = countLosses(log);
  const opened = await openGateway(watch.current(), { path, clock, losses });
  onTestFinished(async () => {
    await opened.gateway.close();
    await opened.close();
  });
  const live = liveConfig(file, watch, {
    ...opened,
    ...{ log, emit: losses.emit, onEvent: losses.onEvent },
  });
  const model = () => opened.catalog.forAdmin.models?.()[0]?.id;
  return { path, live, model, out: () => text };
}
