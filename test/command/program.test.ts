/** How the program is called: help, mistakes on the command line, exit codes, output. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commands } from '../../src/command/commands.ts';
import { csv, table } from '../../src/command/output.ts';
import { runProgram } from '../../src/command/program.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { startFakeUpstream } from '../../src/testing/providers/server.ts';
import { modelAt } from './served.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-program-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('npx tollgate', () => {
  it.each([[['--help']], [['help']], [['-h']]])('%j lists every command', async (args) => {
    const { code, out } = await call(...args);

    expect(code).toBe(0);
    for (const { name } of commands) expect(out).toContain(`  ${name} `);
    for (const { summary } of commands) expect(out).toContain(summary);
  });

  it.each(commands.map(({ name }) => name))('%s --help teaches with an example', async (name) => {
    const { code, out } = await call(...name.split(' '), '--help');

    expect(code).toBe(0);
    expect(out).toContain(`Usage: npx tollgate ${name}`);
    expect(out).toMatch(/Examples?:\n {2}\S/);
    expect(out).toContain('--json');
  });

  it.each<readonly [args: readonly string[], sentence: string]>([
    [[], 'Usage:'],
    [['nonsense'], 'there is no command "nonsense"'],
    [['keys'], 'keys needs a task: issue, list'],
    [['--version'], 'must be a command'],
    [['serve', '--nonsense'], 'See npx tollgate serve --help'],
    [['serve', 'extra'], 'one argument too many'],
    [['serve'], "tollgate.json can't be read (ENOENT)"],
    [['keys', 'issue', '--config', 'memory.json'], 'no command can reach them'],
    [['demo', '--port', 'x'], '--port must be'],
  ])('%j is a mistake of usage: exit code 2', async (args, sentence) => {
    const model = modelAt('http://127.0.0.1:9/v1');
    writeFileSync(join(folder, 'memory.json'), JSON.stringify({ catalog: { models: [model] } }));
    const { code, out, err } = await call(...args);

    expect(code).toBe(2);
    expect(out + err).toContain(sentence);
  });

  it('prints errors as JSON on standard error with --json', async () => {
    const { err } = await call('usage', '--json');

    expect(JSON.parse(err)).toEqual({
      error: { exitCode: 2, code: 'usage', message: expect.stringContaining('tollgate.json') },
    });
  });
});

describe('tollgate keys', () => {
  beforeEach(() => {
    const models = [modelAt('http://127.0.0.1:9/v1')];
    const stores = { sqlite: { path: './tollgate.db' } };
    writeFileSync(join(folder, 'tollgate.json'), JSON.stringify({ catalog: { models }, stores }));
  });

  it('issues, limits, tops up, disables and enables a key', async () => {
    const issue = ['keys', 'issue', '--group', 'staff', '--limit', '5', '--period', 'month'];
    const issued = JSON.parse((await call(...issue, '--id', 'ada', '--json')).out);
    const paid = ['keys', 'top-up', 'ada', '2', '--payment', 'invoice.4711'];
    await call(...paid);
    await call('keys', 'limit', 'ada', '7');
    const repeated = await call(...paid);
    const disabled = await call('keys', 'disable', 'ada');
    const list = await call('keys', 'list');
    await call('keys', 'enable', 'ada');
    const after = JSON.parse((await call('keys', 'list', '--json')).out);

    expect(issued.key).toMatchObject({ id: 'ada', group: 'staff', disabled: false });
    expect(repeated.code).toBe(0);
    expect(disabled.out).toBe('ada is disabled.\n');
    expect(list.out).toMatch(/^ada +staff +disabled +month +9 +0 +0$/m);
    expect(after.data[0].key.disabled).toBe(false);
    expect(list.out + JSON.stringify(after)).not.toContain(issued.secret);
  });

  it.each<readonly [args: readonly string[], code: number, sentence: string]>([
    [['issue', '--group', 'staff'], 2, '--limit'],
    [['issue', '--limit', '5'], 2, '--group'],
    [['issue', '--group', 'staff', '--limit', '-5'], 2, 'limit'],
    [['issue', '--group', 'staff', '--limit', '5', '--period', 'year'], 2, '--period'],
    [['issue', '--group', 'staff', '--limit', '5', '--expires', 'soon'], 2, '--expires'],
    [['issue', '--group', 'staff', '--limit', '5', '--max-calls', 'x'], 2, 'maxConcurrentCalls'],
    [['limit', 'ada'], 2, 'AMOUNT'],
    [['limit', 'nobody', '5'], 1, 'there is no key "nobody"'],
    [['disable', 'nobody'], 1, 'there is no key "nobody"'],
    [['enable'], 2, 'KEY_ID'],
  ])('%j ends with %i', async (args, code, sentence) => {
    const ended = await call('keys', ...args);

    expect(ended.code).toBe(code);
    expect(ended.err).toContain(sentence);
  });

  it.each([
    [['--by', 'nonsense'], 'must be key, group'],
    [['--from', 'nonsense'], '--from must be a date'],
    [['--by', 'key', '--then', 'key'], 'must differ'],
  ])('usage %j is refused', async (args, sentence) => {
    const { code, err } = await call('usage', ...args);

    expect(code).toBe(2);
    expect(err).toContain(sentence);
  });

  it('migrates, and lists channels without their secrets', async () => {
    const migrated = await call('migrate');
    const channels = await call('channels', '--json');

    expect(migrated.out).toMatch(/^sqlite: the tables have version \d+\.\n$/);
    expect(JSON.parse(channels.out).data).toMatchObject([
      { model: 'gpt-4o-mini', channel: 'openai-1', origin: 'http://127.0.0.1:9' },
    ]);
    expect(channels.out).not.toContain('the-account-key');
  });
});

describe('tollgate check', () => {
  it('tries stores and channels, and with --spend makes a call', async () => {
    const upstream = await startFakeUpstream({ apiKey: 'the-account-key' });
    const models = [modelAt(upstream.openaiBaseUrl)];
    const stores = { sqlite: { path: './tollgate.db' } };
    writeFileSync(join(folder, 'tollgate.json'), JSON.stringify({ catalog: { models }, stores }));
    const before = await call('check');
    await call('migrate');
    const after = await call('check', '--spend');
    const paths = upstream.calls.map(({ path }) => path);
    await upstream.close();
    const down = await call('check', '--json');

    expect(before.code).toBe(1);
    expect(before.out).toMatch(/^failed +stores\.sqlite: .*run npx tollgate migrate/m);
    expect(after.out).toMatch(/^ok +stores\.sqlite/m);
    expect(after.out).toMatch(/^ok +call of gpt-4o-mini through openai-1: .* at 0\.000/m);
    expect(paths).toContain('/v1/chat/completions');
    expect(paths).toContain('/v1/models');
    expect(down.code).toBe(1);
    expect(JSON.parse(down.out).data).toContainEqual({
      state: 'failed',
      subject: 'channel openai-1',
      detail: "can't be reached (connect_refused)",
    });
  });
});

describe('output', () => {
  it('aligns columns, figures to the right', () => {
    expect(
      table(
        ['NAME', ' N'],
        [
          ['a', '10'],
          ['bcdef', '7'],
        ],
      ),
    ).toBe('NAME    N\na      10\nbcdef   7\n');
  });

  it('writes CSV that no spreadsheet runs', () => {
    const cells = ['=1+1', '+a', '-b', '@c', '\td', '-1.5', 'a,"b"'];

    expect(csv(['x'], [cells])).toBe(`x\r\n'=1+1,'+a,'-b,'@c,'\td,-1.5,"a,""b"""\r\n`);
  });
});

async function call(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const code = await runProgram(args, commands, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    isTerminal: false,
    env: { KEY: 'the-account-key' },
    cwd: folder,
    clock: fakeClock(),
    onSignal: () => () => {},
  });
  return { code, out, err };
}
