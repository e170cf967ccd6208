/** `npm start` a second time, without its file, and with accounts of the environment. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startFakeUpstream } from '../../src/testing/index.ts';
import {
  buildExample,
  chatLineOf,
  commandsIn,
  newFolder,
  originOf,
  portOf,
  secretsOf,
  send,
  started,
} from './quickstart-process.ts';

beforeAll(buildExample);

describe('npm start', () => {
  it('finds its keys, their quota and their calls again after a restart', async () => {
    const folder = newFolder();
    const first = await started('0', {}, folder);
    await send(chatLineOf(first.output));
    first.child.kill('SIGINT');
    await once(first.child, 'exit');

    const second = await started('0', {}, folder);
    const answer = await send(chatLineOf(first.output).replace(/:\d+\//, portOf(second.output)));
    const host = await fetch(originOf(second.output));

    expect(first.output).toContain('a restart finds them again');
    expect(secretsOf(second.output)).toEqual(secretsOf(first.output));
    expect(answer.status).toBe(200);
    expect(await host.json()).toEqual({ hello: 'from the host app', calls: 2 });
    expect(readFileSync(join(folder, '.data/.gitignore'), 'utf8')).toBe('*\n');
  });

  it('finds them again after it was killed', async () => {
    const folder = newFolder();
    const first = await started('0', {}, folder);
    await send(chatLineOf(first.output));
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');

    const second = await started('0', {}, folder);
    const answer = await send(chatLineOf(second.output));

    expect(secretsOf(second.output)).toEqual(secretsOf(first.output));
    expect(answer.status).toBe(200);
  });

  it('runs in memory, and says why, where its file cannot be written', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, '.data'), 'in the way');

    const { output } = await started('0', {}, folder);
    const answer = await send(chatLineOf(output));

    expect(output).toMatch(/in memory, and lost at the end: SQLite can't be used \(EEXIST/);
    expect(answer.status).toBe(200);
  });

  it('calls the upstream of the environment, and never shows its key', async () => {
    const upstream = await startFakeUpstream({ apiKey: 'the-account-key' });
    const { output } = await started('0', {
      OPENAI_API_KEY: 'the-account-key',
      OPENAI_BASE_URL: upstream.openaiBaseUrl,
      OPENAI_MODEL: 'gpt-of-env',
      GEMINI_API_KEY: '',
    });
    const lines = commandsIn(output);

    const chat = await send(lines[0] ?? '');
    const native = await send(lines[8] ?? '');
    const paths = upstream.calls.map(({ path }) => path);
    await upstream.close();

    expect([chat.status, native.status]).toEqual([200, 200]);
    expect(chat.text).toContain('"gpt-of-env"');
    expect(paths).toEqual(['/v1/chat/completions']);
    expect(output).toContain("OpenAI's APIs    served by OpenAI");
    expect(output).toContain('native           served by the embedded upstream');
    expect(output).not.toContain('the-account-key');
  });
});
