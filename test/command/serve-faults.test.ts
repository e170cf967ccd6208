/**
 * What `tollgate serve` does when the world around it fails: its file, its output, its callers, its
 * end at any moment of a call, and a second process beside it.
 */
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { gate } from '../../src/testing/providers/scripts.ts';
import { modelAt } from './served.ts';
import {
  builtProgram,
  chat,
  issuedAda,
  ran,
  served,
  sqliteHost,
  waitingStream,
  waitingStreamCharge,
  writeConfig,
} from './served.ts';

const env = { KEY: 'the-account-key' };
let program = '';

beforeAll(async () => {
  program = await builtProgram();
}, 60_000);

describe('a configuration file that changes under a running process', () => {
  /** Ways in which a file may be found, and whether what is found is a valid configuration. */
  const states: readonly (readonly [name: string, isValid: boolean, write: WriteState])[] = [
    ['half written', false, (path, text) => writeFileSync(path, text.slice(0, text.length / 2))],
    ['empty', false, (path) => writeFileSync(path, '')],
    ['removed', false, (path) => rmSync(path)],
    ['of another program', false, (path) => writeFileSync(path, '{"name":"x"}')],
    ['binary', false, (path) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0, 1]))],
    [
      'replaced by a rename',
      true,
      (path, text) => {
        writeFileSync(`${path}.new`, text);
        renameSync(`${path}.new`, path);
      },
    ],
    ['written in place', true, (path, text) => writeFileSync(path, text)],
  ];
  type WriteState = (path: string, text: string) => void;

  it('serves on with the last valid version, in any order of states', async () => {
    const { folder, upstream, config } = await sqliteHost();
    const secret = await issuedAda(program, folder, env);
    const { origin, child, until, exited } = await served(program, folder, env);
    const path = join(folder, 'tollgate.json');
    const counts = { config_loaded: 0, config_refused: 0 };
    let served_ = 'gpt-4o-mini';
    // Each state follows each other one once: the order is that of a walk over all pairs.
    for (const [step, index] of walkOver(states.length).entries()) {
      const [name, isValid, write] = states[index] ?? states[0]!;
      const model = `model-${step}`;
      rmSync(path, { force: true });
      const models = [modelAt(upstream.openaiBaseUrl, model)];
      writeFileSync(path, '{');
      write(path, JSON.stringify({ ...config, catalog: { models } }));
      child.kill('SIGHUP');
      const event = isValid ? 'config_loaded' : 'config_refused';
      counts[event] += 1;
      await until(event, counts[event]);
      if (isValid) served_ = model;
      const answer = await chat(origin, secret, { model: served_ });
      await answer.text();

      expect([step, name, answer.status]).toEqual([step, name, 200]);
    }
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
  });
});
