// suite: slow
/** A catalog file that changes while the gateway runs, in every way that files change. */
import { mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { GatewayEvent } from '../../src/events/events.ts';
import { gate } from '../../src/testing/providers/scripts.ts';
import { inTime, turns } from '../stages/ports/failing.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { sampleRequests } from '../support/models.ts';
import { catalogFile, channelJson, modelJson, modelsJson } from './catalog-file.ts';

const oneModel: GatewayEvent = { type: 'catalog_loaded', source: 'models.json', models: 1 };

describe('a changed file is served', () => {
  it('when it is overwritten', async () => {
    const { write, open, nextEvent } = await catalogFile();
    await write(modelsJson('old'));
    const catalog = await open();

    await write(modelsJson('new', 'newer'));

    expect(await nextEvent()).toEqual({ type: 'catalog_loaded', source: 'models.json', models: 2 });
    expect(catalog.find('old')).toBeUndefined();
    expect(catalog.list('staff', 'chat').map(({ id }) => id)).toEqual(['new', 'newer']);
  });

  it('when another file is renamed over it', async () => {
    const { write, replace, open, nextEvent } = await catalogFile();
    await write(modelsJson('old'));
    const catalog = await open();

    await replace(modelsJson('new'));

    expect(await nextEvent()).toEqual(oneModel);
    expect(catalog.find('new')?.id).toBe('new');
  });

  it('when the symbolic link to its folder is swapped, as Kubernetes does', async () => {
    const { folder, open, nextEvent } = await catalogFile();
    for (const name of ['first', 'second']) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'models.json'), JSON.stringify(modelsJson(name)));
    }
    await symlink('first', join(folder, 'data'));
    await symlink(join('data', 'models.json'), join(folder, 'models.json'));
    const catalog = await open();

    await symlink('second', join(folder, 'data.new'));
    await rename(join(folder, 'data.new'), join(folder, 'data'));

    expect(await nextEvent()).toEqual(oneModel);
    expect(catalog.find('second')?.id).toBe('second');
    expect(catalog.find('first')).toBeUndefined();
  });

  it('when its modification time is set back', async () => {
    const { file, write, replace, open, nextEvent } = await catalogFile();
    await write(modelsJson('one'));
    const catalog = await open();

    await replace(modelsJson('two'));
    await utimes(file, 0, 0);

    expect(await nextEvent()).toEqual(oneModel);
    expect(catalog.find('two')?.id).toBe('two');
  });

  it('with the current secrets', async () => {
    vi.stubEnv('ROTATED_KEY_OF_TEST', 'sk-1');
    const { file, write, open, nextEvent } = await catalogFile();
    const channels = [{ ...channelJson, credential: { env: 'ROTATED_KEY_OF_TEST' } }];
    await write({ models: [{ ...modelJson, channels }] });
    const catalog = await open();

    vi.stubEnv('ROTATED_KEY_OF_TEST', 'sk-2');
    await utimes(file, 0, 0);

    expect(await nextEvent()).toEqual(oneModel);
    expect(catalog.find('gpt-5')?.channels[0]?.credential).toBe('sk-2');
  });
});

describe('an invalid version changes nothing and is reported once', () => {
  const invalid = 'jsonFileCatalog: models.json: the text is not valid JSON at line 1, column';

  it('when the file is half written, until it is complete', async () => {
    const { write, open, nextEvent, events } = await catalogFile();
    await write(modelsJson('old'));
    const catalog = await open();
    const whole = JSON.stringify(modelsJson('new'));

    await write(whole.slice(0, 40));
    const refused = await nextEvent();
    const served = catalog.find('old')?.id;
    await write(whole);
    const loaded = await nextEvent();

    const reason = `${invalid} 41. Fix it there.`;
    expect(refused).toEqual({ type: 'catalog_refused', source: 'models.json', reason });
    expect(served).toBe('old');
    expect(loaded).toEqual(oneModel);
    expect(catalog.find('new')?.id).toBe('new');
    expect(events).toHaveLength(2);
  });

  it('when it breaks a rule, once per version', async () => {
    const { write, replace, open, nextEvent, events } = await catalogFile();
    await write(modelsJson('old'));
    const catalog = await open();

    await replace(modelsJson('twice', 'twice'));
    await nextEvent();
    await replace(modelsJson('twice', 'twice'));
    await nextEvent();
    await replace(modelsJson('new'));
    await nextEvent();

    const taken = expect.stringMatching(/models\.json: Model "twice": .*the id or alias "twice"/);
    expect(events).toEqual([
      { type: 'catalog_refused', source: 'models.json', reason: taken },
      { type: 'catalog_refused', source: 'models.json', reason: taken },
      oneModel,
    ]);
    expect(catalog.find('new')?.id).toBe('new');
  });

  it('when the file is missing, until it is put back unchanged', async () => {
    const { file, write, open, nextEvent, events } = await catalogFile();
    await write(modelsJson('old'));
    const catalog = await open();

    await rename(file, `${file}.away`);
    const refused = await nextEvent();
    await rename(`${file}.away`, file);
    const loaded = await nextEvent();

    expect(refused).toMatchObject({
      type: 'catalog_refused',
      reason: expect.stringContaining("models.json can't be read (ENOENT)."),
    });
    expect(loaded).toEqual(oneModel);
    expect(events).toHaveLength(2);
    expect(catalog.find('old')?.id).toBe('old');
  });

  it('when a folder takes its place', async () => {
    const { file, write, open, nextEvent } = await catalogFile();
    await write(modelsJson('old'));
    await open();

    await rm(file);
    await mkdir(file);

    expect(await nextEvent()).toMatchObject({
      reason: expect.stringContaining('is not a regular file.'),
    });
  });

  it('when a link leads in a circle, until it leads to a file', async () => {
    const { folder, file, write, replace, open, nextEvent } = await catalogFile();
    await write(modelsJson('old'));
    const catalog = await open();

    await symlink('models.json', join(folder, 'circle'));
    await rename(join(folder, 'circle'), file);
    const refused = await nextEvent();
    await replace(modelsJson('new'));
    const loaded = await nextEvent();

    expect(refused).toMatchObject({ reason: expect.stringContaining("can't be read (ELOOP).") });
    expect(loaded).toEqual(oneModel);
    expect(catalog.find('new')?.id).toBe('new');
  });

  it('when its secret is missing, until it is added, without a change of the file', async () => {
    const { write, open, nextEvent, events } = await catalogFile();
    await write(modelsJson('old'));
    let isSealed = true;
    const catalog = await open({
      credentials: async () => {
        if (isSealed) throw new Error('sk-of-the-vault');
        return 'sk-1';
      },
    });
    const channels = [{ ...channelJson, credential: { name: 'a' } }];

    await write({ models: [{ ...modelJson, id: 'new', channels }] });
    const refused = await nextEvent();
    isSealed = false;
    const loaded = await nextEvent();

    expect(refused).toMatchObject({
      reason: expect.stringContaining('options.credentials failed'),
    });
    expect(JSON.stringify(refused)).not.toContain('sk-of-the-vault');
    expect(loaded).toEqual(oneModel);
    expect(events).toHaveLength(2);
    expect(catalog.find('new')?.channels[0]?.credential).toBe('sk-1');
  });

  it('when its secret never resolves', async () => {
    const { write, open, nextEvent, clock } = await catalogFile();
    await write(modelsJson('old'));
    const catalog = await open({ credentials: () => new Promise(() => {}) });
    const channels = [{ ...channelJson, credential: { name: 'a' } }];

    await write({ models: [{ ...modelJson, channels }] });

    expect(await inTime(clock, nextEvent())).toMatchObject({ type: 'catalog_refused' });
    expect(catalog.find('old')?.id).toBe('old');
  });
});

describe('a catalog in use', () => {
  it('lets a call finish with the model it began with', async () => {
    const { write, replace, open, nextEvent } = await catalogFile();
    const served = (price: string, upstreamModel: string): object => ({
      models: [
        {
          ...modelJson,
          id: 'chat',
          price: { per: 'token', input: price, output: price },
          channels: [{ ...channelJson, upstreamModel }],
        },
      ],
    });
    await write(served('0.001', 'first'));
    const catalog = await open();
    const { start, upstream, nextRecord } = gatewayInProcess({ options: { catalog } });
    const calling = start(sampleRequests.chat);
    const up = await upstream.next();

    await replace(served('0.002', 'second'));
    await nextEvent();
    up.answer(200, {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
    });
    await calling.reply;

    expect(await nextRecord()).toMatchObject({ chargeNanos: 20n });
    const next = start(sampleRequests.chat);
    const { request } = await upstream.next();
    expect(Buffer.concat(request.body).toString()).toContain('"second"');
    next.disconnect();
  });

  it('stops polling once it is closed, and still serves', async () => {
    const { write, replace, open, clock, events } = await catalogFile();
    await write(modelsJson('old'));
    const catalog = await open();

    catalog.close();
    await replace(modelsJson('new'));
    clock.advance(60_000);
    await turns();

    expect(events).toEqual([]);
    expect(catalog.find('old')?.id).toBe('old');
  });

  it('runs one poll at a time', async () => {
    const { write, replace, open, nextEvent, clock } = await catalogFile();
    await write(modelsJson('old'));
    const requested = gate();
    const resolvable = gate();
    let count = 0;
    await open({
      credentials: async () => {
        count += 1;
        requested.open();
        await resolvable.opened;
        return 'sk-1';
      },
    });
    const channels = [{ ...channelJson, credential: { name: 'a' } }];

    await replace({ models: [{ ...modelJson, channels }] });
    clock.advance(2_000);
    await requested.opened;
    clock.advance(4_000);
    // Enough turns for a second poll to get as far, if there were one.
    for (let turn = 0; turn < 50; turn += 1) await turns();
    resolvable.open();

    expect(await nextEvent()).toEqual(oneModel);
    expect(count).toBe(1);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('listener');
      },
    ],
    ['rejects later', () => Promise.reject(new Error('listener'))],
  ])('survives a listener that %s', async (_how, fail) => {
    const { write, replace, open, nextEvent, report } = await catalogFile();
    await write(modelsJson('old'));
    const failing = (event: GatewayEvent): unknown => {
      report(event);
      return fail();
    };
    const catalog = await open({ onEvent: failing });

    await replace(modelsJson('new'));
    await nextEvent();
    await replace(modelsJson('newer'));
    await nextEvent();

    expect(catalog.find('newer')?.id).toBe('newer');
  });
});
