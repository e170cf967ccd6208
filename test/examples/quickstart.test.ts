// suite: slow host first
/** `npm start` as a user runs it: built, in a separate process, with its printed commands run. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { send as sendRaw } from '../console/console-host.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { build } from '../support/built.ts';
import { isNewest, isWhole } from '../support/sample.ts';
import {
  chatLineOf,
  commandsIn,
  newFolder,
  originOf,
  pngOf,
  portOf,
  secretsOf,
  send,
  start,
  started,
  textOf,
} from './quickstart-process.ts';

beforeAll(build);

describe('npm start', () => {
  it('prints commands that work for all protocols, and ends cleanly on Ctrl-C', async () => {
    const { child, output } = await started('0');
    const lines = commandsIn(output);

    const answers = await Promise.all(lines.slice(0, -1).map(send));
    const usage = await send(lines.at(-1) ?? '');
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');

    expect(lines).toHaveLength(12);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(answers[0]?.text).toContain('"chat.completion"');
    expect(answers[1]?.text).toMatch(/data: \[DONE\]\n\n$/);
    expect(answers[2]?.text).toContain('"output_text"');
    expect(answers[3]?.text).toContain('"stop_reason"');
    expect(JSON.parse(answers[4]?.text ?? '').data).toHaveLength(2);
    expect(JSON.parse(answers[5]?.text ?? '').embedding.values).toHaveLength(8);
    expect(pngOf(answers[6]?.text)).toBe('\x89PNG');
    expect(answers[8]?.text).toContain('"candidates"');
    expect(answers[10]?.text).toContain('"models/');
    expect(JSON.parse(usage.text).data).toMatchObject({
      limit: 5,
      limit_reset: 'monthly',
      usage_monthly: expect.any(Number),
    });
    expect(JSON.parse(usage.text).data.usage_monthly).toBeGreaterThan(0);
    for (const secret of secretsOf(output)) expect(output.split(String(secret))).toHaveLength(2);
    expect(code).toBe(0);
  });

  it('prints a link to its console, which shows its calls, and to this machine alone', async () => {
    const { output } = await started('0');
    await send(chatLineOf(output));
    const link = /http:\S+#token=(\S+)/.exec(output)?.[1] ?? '';
    const origin = originOf(output);
    const changing = { 'content-type': 'application/json', 'x-tollgate-admin': '1', origin };

    const exchanged = await fetch(`${origin}/console/sign-in`, {
      method: 'POST',
      headers: changing,
      body: JSON.stringify({ token: link }),
    });
    const cookie = String(exchanged.headers.get('set-cookie')).split(';')[0] ?? '';
    const page = await fetch(`${origin}/console`, { headers: { cookie } });
    const { port } = new URL(origin);
    const headers = { cookie, host: `evil.example:${port}` };
    const rebound = await sendRaw(origin, { path: '/console', headers });

    expect(exchanged.status).toBe(200);
    expect(await page.text()).toContain('<title>Tollgate</title>');
    expect(rebound.status).toBe(403);
    // The record of a call comes after its reply.
    await expect
      .poll(async () =>
        (await fetch(`${origin}/console/api/calls`, { headers: { cookie } })).json(),
      )
      .toMatchObject({ data: [expect.anything()] });
  });

  it('says which variable to set when the port is taken', async () => {
    const other = createServer().listen(0);
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;

    const child = start({ PORT: `${port}` });
    const errors = textOf(child.stderr);
    const [code] = await once(child, 'exit');
    other.close();

    expect(code).toBe(1);
    expect(await errors).toContain('set PORT');
  });

  it.each(['abc', '65536', '-1'])('says what PORT must be if it is %s', async (port) => {
    const child = start({ PORT: port });
    const errors = textOf(child.stderr);
    const [code] = await once(child, 'exit');

    expect(code).toBe(1);
    expect(await errors).toBe('PORT must be a number from 0 to 65535.\n');
  });
});

// Left out of `npm test`: each test starts one or two processes.
describe.runIf(isWhole || isNewest)('npm start again, or with other accounts', () => {
  it('finds its keys, their quota and their calls again after a restart', async () => {
    const folder = newFolder();
    const first = await started('0', {}, folder);
    await send(chatLineOf(first.output));
    first.child.kill('SIGINT');
    await once(first.child, 'exit');

    const second = await started('0', {}, folder);
    const answer = await send(chatLineOf(first.output).replace(/:\d+\//, portOf(second.output)));

    expect(first.output).toContain('a restart finds them again');
    expect(secretsOf(second.output)).toEqual(secretsOf(first.output));
    expect(answer.status).toBe(200);
    // A call is recorded once its charge is on the disk, which its caller does not wait for.
    await expect
      .poll(async () => (await fetch(originOf(second.output))).json())
      .toEqual({ hello: 'from the host app', calls: 2 });
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
    const upstream = await startStrictUpstream({ apiKey: 'the-account-key' });
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
