/** What a look at a file brings, look by look, over a disk that a test drives by hand. */
import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import { type FileWatch, fileWatch } from '../../src/stores/file/file-watch.ts';
import type { Disk } from '../../src/stores/file/stable-read.ts';

describe('a file is looked at', () => {
  it('and read twice, then no more as long as its version stays', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });

    const news = [await watch.look(), await watch.look(), await watch.look()];

    expect(news).toEqual([undefined, undefined, undefined]);
    expect(disk.reads).toBe(2);
  });

  it('and a change right behind the look shows, before the clock of its disk ticks', async () => {
    const { disk, watch } = await watched({ version: 'the same second', text: 'one' });

    disk.text = 'two';
    const news = [await watch.look(), await watch.look(), await watch.look()];

    expect(news).toEqual([{ type: 'loaded', value: 'two' }, undefined, undefined]);
    expect(watch.current()).toBe('two');
  });

  it('and one that was touched is made anew', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    await watch.look();

    disk.version = '2';

    expect(await watch.look()).toEqual({ type: 'loaded', value: 'one' });
    expect(await watch.look()).toBeUndefined();
  });
});

describe('a bad file', () => {
  const refused = { type: 'refused', reason: 'jsonFileCatalog: models.json: it is bad.' };

  it('is told once a version, and once more when it comes back', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    const told: unknown[] = [];
    const versions: readonly (readonly [version: string, text: string])[] = [
      ['2', 'bad'],
      ['2', 'bad'],
      ['3', 'bad'],
      ['3', 'bad'],
      ['4', 'good'],
      ['4', 'good'],
      ['2', 'bad'],
    ];

    for (const [version, text] of versions) {
      Object.assign(disk, { version, text });
      told.push(await watch.look());
    }

    const loaded = { type: 'loaded', value: 'good' };
    expect(told).toEqual([refused, undefined, refused, undefined, loaded, undefined, refused]);
    expect(watch.current()).toBe('good');
  });

  it('that turns good again is told, though it is the one that is served', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    await watch.look();
    Object.assign(disk, { version: '2', text: 'bad' });
    await watch.look();

    Object.assign(disk, { version: '1', text: 'one' });

    expect(await watch.look()).toEqual({ type: 'loaded', value: 'one' });
  });

  it('that was away is told when it is back, though it is what it was', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    await watch.look();
    disk.isAway = true;
    const away = await watch.look();

    disk.isAway = false;

    expect(away).toMatchObject({
      type: 'refused',
      reason: expect.stringContaining("can't be read"),
    });
    expect(await watch.look()).toEqual({ type: 'loaded', value: 'one' });
  });

  it('is tried at every look, for what it refers to may come', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    Object.assign(disk, { version: '2', text: 'bad' });
    await watch.look();

    disk.isMended = true;

    expect(await watch.look()).toEqual({ type: 'loaded', value: 'bad' });
  });

  it('is told again where another thing is wrong with it', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    Object.assign(disk, { version: '2', text: 'bad' });
    await watch.look();

    disk.text = 'worse';

    expect(await watch.look()).toEqual({ ...refused, reason: expect.stringContaining('worse') });
  });

  it('throws at the first look', async () => {
    await expect(watched({ version: '1', text: 'bad' })).rejects.toThrow(
      new ConfigurationError(refused.reason),
    );
  });
});

interface DrivenDisk extends Disk {
  version: string;
  text: string;
  /** From now on a bad text is good. */
  isMended: boolean;
  isAway: boolean;
  readonly reads: number;
}

async function watched(
  at: Pick<DrivenDisk, 'version' | 'text'>,
): Promise<{ readonly disk: DrivenDisk; readonly watch: FileWatch<string> }> {
  let reads = 0;
  const disk: DrivenDisk = {
    ...at,
    isMended: false,
    isAway: false,
    get reads() {
      return reads;
    },
    versionAt: async () => {
      if (disk.isAway) throw new Error('away');
      return disk.version;
    },
    read: async () => {
      if (disk.isAway) throw new Error('away');
      reads += 1;
      return { version: disk.version, bytes: Buffer.from(disk.text) };
    },
  };
  const make = async (bytes: Buffer): Promise<string> => {
    const text = bytes.toString();
    if (disk.isMended || !/^(?:bad|worse)$/.test(text)) return text;
    throw new ConfigurationError(`it is ${text}.`);
  };
  return { disk, watch: await fileWatch('folder/models.json', make, disk) };
}
