// suite: slow host
/** `tollgate usage refusals` over what a gateway of the configuration has recorded in SQLite. */
import { describe, expect, it } from 'vitest';
import { configFile } from '../../src/command/config/read.ts';
import { jsonLog } from '../../src/command/log.ts';
import { countLosses } from '../../src/command/serve/losses.ts';
import { openGateway } from '../../src/command/serve/open-gateway.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { requestOf } from '../support/gateway-in-process.ts';
import { sampleRequests } from '../support/models.ts';
import { type CommandFolder, commandFolder, sqliteConfig, surroundings } from './called.ts';

/** A folder whose gateway has refused three requests, and may have recorded them. */
async function refused(gateway: object, startMs?: number): Promise<CommandFolder> {
  const host = commandFolder();
  host.write({ ...sqliteConfig(), gateway });
  const file = configFile({ around: surroundings({ cwd: host.folder }), text: () => undefined });
  const read = (await file.open()).current();
  const opened = await openGateway(read, {
    path: file.path,
    clock: fakeClock(startMs),
    losses: countLosses(jsonLog(() => {}, fakeClock())),
  });
  const nowhere = { ...sampleRequests.chat, path: '/v1/nothing' };
  for (const request of [sampleRequests.chat, nowhere, sampleRequests.chat]) {
    await opened.gateway.handle(requestOf(request, []));
  }
  await opened.gateway.close();
  await opened.close();
  return host;
}

describe('tollgate usage refusals', () => {
  it('sums what the gateway recorded, as a table, as JSON and as CSV', async () => {
    const host = await refused({ recordRefusals: true });

    const shown = await host.call('usage', 'refusals');
    const csv = await host.call('usage', 'refusals', '--by', 'day', '--then', 'code', '--csv');
    const json = await host.call('usage', 'refusals', '--code', 'invalid_key', '--json');

    expect(shown.out.split('\n').map((line) => line.trim().split(/ +/))).toEqual([
      ['CODE', 'REFUSALS', 'SHARE'],
      ['invalid_key', '2', '66.7%'],
      ['route_not_found', '1', '33.3%'],
      ['total', '3', '100.0%'],
      [''],
    ]);
    expect(csv.out.split('\r\n')).toEqual([
      'day,code,refusals',
      '2026-01-01,invalid_key,2',
      '2026-01-01,route_not_found,1',
      '',
    ]);
    expect(JSON.parse(json.out)).toEqual({
      by: 'code',
      data: [{ names: ['invalid_key'], refusals: 2 }],
      total: { refusals: 2 },
    });
  });

  it('finds none where the configuration does not record them', async () => {
    const host = await refused({});

    const { code, out } = await host.call('usage', 'refusals', '--json');

    expect([code, JSON.parse(out).data]).toEqual([0, []]);
  });

  it('finds none that were deleted', async () => {
    const host = await refused({ recordRefusals: true }, Date.UTC(2025, 11, 30));
    const args = ['usage', 'refusals', '--from', '2025-12-01', '--json'];
    const before = await host.call(...args);
    const deleted = await host.call('usage', 'delete', '--before', '2025-12-31', '--yes', '--json');
    const after = await host.call(...args);

    expect(JSON.parse(before.out).total).toEqual({ refusals: 3 });
    expect(JSON.parse(deleted.out)).toMatchObject({ deleted: 2 });
    expect(JSON.parse(after.out).data).toEqual([]);
  });

  it.each<readonly [args: readonly string[], sentence: string]>([
    [['--by', 'channel'], 'must be key, group, model, protocol, code, reason, detail, day'],
    [['--by', 'code', '--then', 'code'], 'must differ'],
    [['--code', 'forbidden'], '--code must be one of invalid_request'],
    [['--reason', 'poor'], '--reason must be one of content_type'],
    [['--protocol', 'smtp'], '--protocol must be one of chat'],
    [['--json', '--csv'], 'exclude each other'],
    [['--from', '2026-02-01', '--to', '2026-01-01'], '--from must be before --to'],
  ])('refuses %j', async (args, sentence) => {
    const { code, err } = await commandFolder().call('usage', 'refusals', ...args);

    expect(code).toBe(2);
    expect(err).toContain(sentence);
  });
});
