/** `tollgate serve` as a process, over SQLite: calls, reloads, and its end during a stream. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { gate, type Script, script as scripted } from '../../src/testing/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { builtProgram, chat, modelAt, newFolder, ran, served, writeConfig } from './served.ts';

const env = { KEY: 'the-account-key' };
let program = '';

beforeAll(async () => {
  program = await builtProgram();
}, 60_000);

describe('tollgate serve', () => {
  it('serves keys that the command issues, and the command reports what they used', async () => {
    const { folder } = await host();
    const issued = await ran(program, folder, issueAda, env);
    const secret = issued.out.trim();
    const { origin, child, exited, lines } = await served(program, folder, env);

    const answer = await chat(origin, secret);
    const ready = await fetch(`${origin}/readyz`);
    await answer.text();
    child.kill('SIGTERM');

    expect(issued).toMatchObject({ code: 0, err: expect.stringContaining('ada') });
    expect(secret).toMatch(/^tg_[\w-]{59}$/);
    expect([answer.status, ready.status]).toEqual([200, 200]);
    expect(await exited).toBe(0);
    expect(lines.map(({ message }) => message)).toContain('call_ended');
    expect(JSON.stringify(lines)).not.toMatch(/the-account-key|tg_/);
    const report = await ran(
      program,
      folder,
      ['usage', '--by', 'key', '--then', 'model', '--csv'],
      env,
    );
    expect(report.out).toMatch(/^key,model,calls,.*\r\nada,gpt-4o-mini,1,/);
    const list = await ran(program, folder, ['keys', 'list', '--json'], env);
    expect(JSON.parse(list.out).data[0]).toMatchObject({ key: { id: 'ada' } });
    expect(BigInt(JSON.parse(list.out).data[0].balance.used)).toBeGreaterThan(0n);
    expect(list.out).not.toContain(secret);
  });

  it('lets a stream end after SIGTERM, charges it once, and refuses new calls', async () => {
    const { folder, upstream } = await host();
    const secret = (await ran(program, folder, issueAda, env)).out.trim();
    const { origin, child, exited, until } = await served(program, folder, env);
    const held = gate();
    upstream.enqueue(streamWith(held.opened));

    const answer = await chat(origin, secret, { stream: true });
    child.kill('SIGTERM');
    await until('ending');
    held.open();
    const text = await answer.text();

    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    expect(await exited).toBe(0);
    const report = await ran(program, folder, ['usage', '--by', 'outcome', '--json'], env);
    expect(JSON.parse(report.out).data).toMatchObject([
      {
        names: ['complete'],
        calls: 1,
        chargeNanos: '13500',
        unbookedNanos: '0',
      },
    ]);
    const list = await ran(program, folder, ['keys', 'list', '--json'], env);
    expect(JSON.parse(list.out).data[0].balance).toMatchObject({ used: '13500', held: '0' });
  });

  it('applies a changed file, and keeps the old one while the new one is wrong', async () => {
    const { folder, upstream, config } = await host();
    const secret = (await ran(program, folder, issueAda, env)).out.trim();
    const { origin, child, until, exited } = await served(program, folder, env);

    writeConfig(folder, { ...config, gateway: { leaseMs: 1 } });
    child.kill('SIGHUP');
    const refused = await until('config_refused');
    const before = await chat(origin, secret);
    await before.text();
    const models = [modelAt(upstream.openaiBaseUrl), modelAt(upstream.openaiBaseUrl, 'other')];
    writeConfig(folder, { ...config, listen: { port: 1 }, catalog: { models } });
    child.kill('SIGHUP');
    await until('config_loaded');
    const restart = await until('config_needs_restart');
    const after = await chat(origin, secret, { model: 'other' });
    await after.text();
    child.kill('SIGINT');

    expect(refused.reason).toMatch(/^tollgate\.json: gateway\.leaseMs must be /);
    expect([before.status, after.status]).toEqual([200, 200]);
    expect(restart.members).toEqual(['listen']);
    expect(await exited).toBe(0);
  });
});

const issueAda = ['keys', 'issue', '--group', 'staff', '--limit', '5', '--id', 'ada'];

interface Host {
  readonly folder: string;
  readonly upstream: FakeUpstream;
  readonly config: object;
}

async function host(): Promise<Host> {
  const upstream = await startFakeUpstream();
  onTestFinished(() => upstream.close());
  const folder = newFolder();
  const config = {
    listen: { port: 0, host: '127.0.0.1' },
    stores: { sqlite: { path: './data/tollgate.db' } },
    catalog: { models: [modelAt(upstream.openaiBaseUrl)] },
  };
  writeConfig(folder, config);
  return { folder, upstream, config };
}

/** Says something, waits, and ends with the usage of 10 and 20 tokens. */
function streamWith(opened: Promise<void>): Script {
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini' };
  const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  return scripted.sse([
    { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Once' } }] },
    opened,
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...chunk, choices: [], usage },
    '[DONE]',
  ]);
}
