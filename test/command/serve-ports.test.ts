/** The ports of `tollgate serve` beside that of the gateway. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  builtProgram,
  chat,
  issuedAda,
  type LogLine,
  ran,
  served,
  sqliteHost,
  writeConfig,
} from './served.ts';

const env = { KEY: 'the-account-key' };
let program = '';

beforeAll(async () => {
  program = await builtProgram();
}, 60_000);

describe('the metrics of tollgate serve', () => {
  it('are on a port of their own, with those of the process', async () => {
    const { folder, config } = await sqliteHost();
    writeConfig(folder, { ...config, metrics: { port: 0, path: '/figures' } });
    const secret = await issuedAda(program, folder, env);
    const { origin, child, exited, until } = await served(program, folder, env);
    const metrics = originOf(await until('listening'), 'metrics');

    const answer = await chat(origin, secret);
    await answer.text();
    await until('call_ended');
    const scrape = await fetch(`${metrics}/figures?x=1`);
    const text = await scrape.text();
    const others = await Promise.all(
      [`${metrics}/metrics`, `${metrics}/v1/models`, `${origin}/figures`].map((url) => fetch(url)),
    );
    const posted = await fetch(`${metrics}/figures`, { method: 'POST' });
    child.kill('SIGTERM');

    expect(scrape.headers.get('content-type')).toContain('version=0.0.4');
    expect(text).toMatch(/^tollgate_calls_total\{.*model="gpt-4o-mini",outcome="complete".*\} 1$/m);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
    expect(text).not.toMatch(/the-account-key|tg_|ada/);
    expect(others.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(posted.status).toBe(405);
    expect(await exited).toBe(0);
  });
});

describe('a port of tollgate serve that is taken', () => {
  it.each(['listen', 'metrics'])('names the member %s, and ends with 1', async (member) => {
    const { folder, config } = await sqliteHost();
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const bound = other.address();
    const taken = { port: typeof bound === 'object' ? bound?.port : 0, host: '127.0.0.1' };
    writeConfig(folder, { ...config, metrics: { port: 0 }, [member]: taken });

    const { code, out, err } = await ran(program, folder, ['serve'], env);

    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      `tollgate: ${member}.port: can't listen on port ${taken.port}. ` +
        'It is taken: choose a free one.\n',
    );
  });
});

/** The address of a port that the line `listening` names. */
function originOf(line: LogLine, member: string): string {
  const address: unknown = line[member];
  const port: unknown = Reflect.get(Object(address), 'port');
  return `http://127.0.0.1:${port}`;
}
