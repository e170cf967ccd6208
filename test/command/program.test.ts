// suite: slow host
/** How the program is called: help, mistakes on the command line, exit codes, output. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { channelChanges } from '../../src/command/channels.ts';
import { exitCodes } from '../../src/command/command.ts';
import { commands } from '../../src/command/commands.ts';
import { table } from '../../src/command/output.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { type CommandFolder, commandFolder, sqliteConfig } from './called.ts';
import { modelAt } from './serve/served.ts';

const page = readFileSync(new URL('../../docs/command.md', import.meta.url), 'utf8');

describe('npx tollgate', () => {
  it.each([[['--help']], [['help']], [['-h']]])('%j lists every command', async (args) => {
    const { code, out } = await commandFolder().call(...args);

    expect(code).toBe(0);
    for (const { name } of commands) expect(out).toContain(`  ${name} `);
    for (const { summary } of commands) expect(out).toContain(summary);
  });

  it.each([[['keys', '--help']], [['help', 'keys']]])('%j lists the tasks', async (args) => {
    const { code, out } = await commandFolder().call(...args);

    expect(code).toBe(0);
    expect(out).toContain('npx tollgate keys TASK --help');
    for (const { name, summary } of commands) {
      expect(out.includes(`  ${name} `), name).toBe(name.startsWith('keys '));
      expect(out.includes(summary), name).toBe(name.startsWith('keys '));
    }
  });

  it.each(commands)('$name --help has every option and an example', async (command) => {
    const words = command.name.split(' ');
    const { call } = commandFolder();
    const { code, out } = await call(...words, '--help');

    expect(code).toBe(0);
    expect(out).toContain(`Usage: npx tollgate ${command.name}`);
    for (const [name, { text }] of Object.entries(command.options)) {
      expect(out).toMatch(new RegExp(`^  --${name} .*${text.slice(-12)}$`, 'm'));
    }
    for (const example of command.examples) expect(out).toContain(`  ${example}\n`);
    expect(out).toContain('--json');
    expect((await call('help', ...words)).out).toBe(out);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
  });

  it.each(['--version', '-v'])('%s prints the version of the package', async (option) => {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { code, out } = await commandFolder().call(option);

    expect([code, out]).toEqual([0, `${JSON.parse(manifest).version}\n`]);
    expect((await commandFolder().call('--help')).out).toContain('npx tollgate --version');
  });

  it('is documented with all its commands', () => {
    for (const { name } of commands) expect(page).toContain(`\`${name}\``);
  });

  it.each<readonly [args: readonly string[], sentence: string]>([
    [[], 'Usage:'],
    [['nonsense'], 'there is no command "nonsense"'],
    [['help', 'nonsense'], 'there is no command "nonsense"'],
    [['keys'], 'keys needs a task: issue, list, show'],
    [['--versions'], 'must be a command'],
    [['serve', '--nonsense'], 'See npx tollgate serve --help'],
    [['serve', 'extra'], 'one argument too many'],
    [['usage', '--by', 'key', '--by', 'group'], '--by is given twice'],
    [['serve', '--config', 'none.json'], "none.json can't be read (ENOENT)"],
    [['keys', 'list', '--config', 'memory.json'], 'no command can reach them'],
    [['usage', '--config', 'memory.json'], 'no command can reach them'],
    [['migrate', '--config', 'memory.json'], 'nothing to migrate'],
    [['demo', '--port', 'x'], '--port must be'],
  ])('%j is a usage error: exit code 2', async (args, sentence) => {
    const { call, write } = commandFolder();
    write({ catalog: { models: [modelAt('http://127.0.0.1:9/v1')] } }, 'memory.json');
    const { code, out, err } = await call(...args);

    expect(code).toBe(2);
    expect(out + err).toContain(sentence);
  });
});

describe('the examples in the help', () => {
  const examples = commands.flatMap((command) =>
    command.examples
      .filter((example) => example.startsWith('npx tollgate '))
      .map((example) => ({ example, command })),
  );
  /** Commands that run until a signal, or need a process that does: other tests run them. */
  const withProcess: ReadonlySet<string> = new Set([
    ...channelChanges.map(({ name }) => name),
    'console link',
    'demo',
    'notify test',
    'serve',
  ]);

  it.each(examples)('$example ends with exit code 0', async ({ example, command }) => {
    const upstream = await upstreamOfAccount();
    const folder = commandFolder();
    const { call, write } = folder;
    write({ ...sqliteConfig(), catalog: { models: [modelAt(upstream.openaiBaseUrl)] } });
    await call('migrate');
    if (!example.includes('issue')) {
      await call('keys', 'issue', '--group', 'staff', '--limit', '5', '--id', 'ada');
    }
    if (!/owners create/.test(example)) {
      for (const owner of ['team-search', 'team-a', 'qa']) {
        await call('owners', 'create', owner, '--limit', '5');
      }
    }
    writeFileSync(join(folder.folder, 'keys.csv'), 'group,limit\nstaff,5\n');
    if (command.name.startsWith('catalog ')) await publishTwice(folder);
    const [text = ''] = example.split(/ >>? /);
    const words = text.match(/"[^"]*"|\S+/g) ?? [];
    const args = words.slice(2).map((word) => word.replaceAll('"', ''));
    const { code, err } = await call(...args, ...(withProcess.has(command.name) ? ['--help'] : []));

    expect([code, err.replace(/^\{.*\}\n/m, '')]).toEqual([
      0,
      expect.not.stringMatching(/tollgate:/),
    ]);
  });
});

/** Moves the catalog into the database, with two versions and the file of a third. */
async function publishTwice({ write, call }: CommandFolder): Promise<void> {
  vi.stubEnv('KEY', 'the-account-key');
  write({ ...sqliteConfig(), catalog: { store: 'sqlite' } });
  for (const input of ['1', '2', '3']) {
    const price = { per: 'token', input, output: '2' };
    const place = { id: 'openai-1', dialect: 'openai', baseUrl: 'http://127.0.0.1:9/v1' };
    const channels = [{ ...place, credential: { env: 'KEY' } }];
    write({ models: [{ ...modelAt(place.baseUrl), price, channels }] }, 'models.json');
    if (input !== '3') await call('catalog', 'publish', 'models.json');
  }
}

describe('exit codes', () => {
  const cases: readonly (readonly [code: number, name: string, args: readonly string[]])[] = [
    [exitCodes.done, 'done', ['migrate']],
    [exitCodes.failed, 'failed', ['keys', 'disable', 'nobody']],
    [exitCodes.usage, 'usage', ['keys', 'disable']],
    [exitCodes.unreachable, 'unreachable', ['migrate', '--config', 'folder.json']],
  ];

  it.each(cases)('%i: %s, after %j', async (code, name, args) => {
    const { call, write } = commandFolder();
    // A folder stands where the file of the database should be.
    write({ ...sqliteConfig(), stores: { sqlite: { path: '.' } } }, 'folder.json');
    const ended = await call(...args, '--json');

    expect(ended.code).toBe(code);
    if (code === 0) expect(JSON.parse(ended.out)).toBeDefined();
    else {
      const last = ended.err.trimEnd().split('\n').at(-1) ?? '';
      expect(JSON.parse(last).error).toMatchObject({ exitCode: code, code: name });
      expect(ended.out).toBe('');
    }
  });

  it('are those of the docs', () => {
    const documented = [...page.matchAll(/^\| (\d) \| /gm)].map(([, code]) => Number(code));

    expect(documented).toEqual(Object.values(exitCodes));
    expect(cases.map(([code]) => code)).toEqual(documented);
  });
});

describe('tollgate migrate and channels', () => {
  it('migrates, and lists channels without their secrets', async () => {
    const { call } = commandFolder();
    const migrated = await call('migrate');
    const channels = await call('channels', '--json');

    expect(migrated.out).toMatch(/^sqlite: the tables have version \d+\.\n$/);
    expect(JSON.parse(channels.out).data).toMatchObject([
      { model: 'gpt-4o-mini', channel: 'openai-1', origin: 'http://127.0.0.1:9' },
    ]);
    expect(channels.out).not.toContain('the-account-key');
    expect(await call('channels', '--model', 'nope')).toMatchObject({
      code: 1,
      err: 'tollgate: There is no model "nope" in the catalog.\n',
    });
  });
});

describe('tollgate check', () => {
  it.each([
    ['p', true],
    ['0123456789abcdef', true],
    ['0b2rJ8xQv4mZ1yT6kW9sHd3L', false],
  ])('warns of a pepper that can be guessed, and does not fail: %s', async (pepper, isWeak) => {
    const { call, write } = commandFolder({ env: { KEY: 'the-account-key', PEPPER: pepper } });
    write({ ...sqliteConfig(), keys: { pepper: `\${PEPPER}` } });

    const { data } = JSON.parse((await call('check', '--json')).out);

    const found = data.filter(({ subject }: { subject: string }) => subject === 'keys.pepper');
    expect(found.map(({ state }: { state: string }) => state)).toEqual(isWeak ? ['warning'] : []);
    expect(JSON.stringify(found)).not.toContain(`"${pepper}`);
  });

  it('tries stores and channels, and with --spend makes a call', async () => {
    const upstream = await upstreamOfAccount();
    const { call, write } = commandFolder();
    write({ ...sqliteConfig(), catalog: { models: [modelAt(upstream.openaiBaseUrl)] } });
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

describe('a wildcard', () => {
  it('has its prices from the public list that is installed beside the configuration', async () => {
    const upstream = await upstreamOfAccount();
    const { folder, call, write } = commandFolder();
    const model = { ...modelAt(upstream.openaiBaseUrl), id: 'openai/*', price: { from: 'openai' } };
    write({ ...sqliteConfig(), catalog: { models: [model] } });
    const missing = await call('check');
    const prices = join(folder, 'node_modules', '@pydantic', 'genai-prices');
    mkdirSync(prices, { recursive: true });
    writeFileSync(join(prices, 'package.json'), '{"name":"x","version":"1.0.0","main":"x.cjs"}');
    writeFileSync(join(prices, 'x.cjs'), 'exports.calcPrice = () => null;');
    await call('migrate');
    const checked = await call('check', '--spend');
    const listed = await call('channels');
    const paths = upstream.calls.map(({ path }) => path);
    await upstream.close();

    expect(missing.code).toBe(2);
    expect(missing.err).toContain('run: npm install @pydantic/genai-prices.');
    expect(checked.code).toBe(0);
    expect(checked.out).toMatch(/^ok +channel openai-1: accepts its credential$/m);
    expect(checked.out).toMatch(/^warning +call of openai\/\* through openai-1: not tried/m);
    expect(paths).toEqual(['/v1/models']);
    expect(listed.out).toMatch(/^openai\/\* .* \*$/m);
  });
});

describe('a table', () => {
  it('aligns columns, numbers to the right', () => {
    expect(
      table(
        ['NAME', ' N'],
        [
          ['a', '10'],
          ['bcdef', '7'],
        ],
        'Nothing.',
      ),
    ).toBe('NAME    N\na      10\nbcdef   7\n');
  });

  it.each([
    [['keys', 'list'], /^No keys are stored here\. /],
    [['usage', '--from', '2026-11-01', '--to', '2026-11-02'], /^No calls match from 2026-11-01T/],
    [['usage', 'refusals'], /^No recorded refusals match from .*"recordRefusals": true/],
    [['channels'], /^The catalog has no models\.\n/],
  ])('without rows says so in place of a heading: %s', async (args, sentence) => {
    const { call, write } = commandFolder();
    write({ ...sqliteConfig(), catalog: { models: [] } });
    await call('migrate');

    const { out } = await call(...args);

    expect(out).toMatch(sentence);
    expect(out.trimEnd().split('\n')).toHaveLength(1);
  });

  it('of calls that is empty has the heading for programs, and says so to people', async () => {
    const { call } = commandFolder();
    await call('migrate');

    const { out, err } = await call('usage', 'calls');

    expect([out.trimEnd().split('\r\n').length, err]).toEqual([1, 'No calls match.\n']);
  });

  it('passes no control characters to the terminal', () => {
    const text = table(['NAME'], [['\u001b]0;title\u0007\r\n\u009bm']], 'Nothing.');

    expect(text).toBe('NAME\n?]0;title????m\n');
  });
});

async function upstreamOfAccount(): Promise<FakeUpstream> {
  const upstream = await startStrictUpstream({ apiKey: 'the-account-key' });
  onTestFinished(() => upstream.close());
  return upstream;
}
