// suite: slow runtime
/** The results of polling a file, over a fake disk that the test controls. */
import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import { type Disk, type FileWatch, fileWatch } from '../../src/files/file-watch.ts';

describe('polling a file', () => {
  it('reads it twice, then not again while its version stays the same', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });

    const changes = [await watch.poll(), await watch.poll(), await watch.poll()];

    expect(changes).toEqual([undefined, undefined, undefined]);
    expect(disk.reads).toBe(2);
  });

  it('finds a change within one tick of the file system clock', async () => {
    const { disk, watch } = await watched({ version: 'the same second', text: 'one' });

    disk.text = 'two';
    const changes = [await watch.poll(), await watch.poll(), await watch.poll()];

    expect(changes).toEqual([{ type: 'loaded', value: 'two' }, undefined, undefined]);
    expect(watch.current()).toBe('two');
  });

  it('loads a file again whose version changed but not its content', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    await watch.poll();

    disk.version = '2';

    expect(await watch.poll()).toEqual({ type: 'loaded', value: 'one' });
    expect(await watch.poll()).toBeUndefined();
  });
});

describe('an invalid file', () => {
  const refused = { type: 'refused', reason: 'jsonFileCatalog: models.json: it is bad.' };

  it('is reported once per version, and again when that version comes back', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    const changes: unknown[] = [];
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
      changes.push(await watch.poll());
    }

    const loaded = { type: 'loaded', value: 'good' };
    expect(changes).toEqual([refused, undefined, refused, undefined, loaded, undefined, refused]);
    expect(watch.current()).toBe('good');
  });

  it('is reported as loaded when the served version is restored', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    await watch.poll();
    Object.assign(disk, { version: '2', text: 'bad' });
    await watch.poll();

    Object.assign(disk, { version: '1', text: 'one' });

    expect(await watch.poll()).toEqual({ type: 'loaded', value: 'one' });
  });

  it('is reported as loaded when a missing file comes back unchanged', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    await watch.poll();
    disk.isMissing = true;
    const missing = await watch.poll();

    disk.isMissing = false;

    expect(missing).toMatchObject({
      type: 'refused',
      reason: expect.stringContaining("can't be read"),
    });
    expect(await watch.poll()).toEqual({ type: 'loaded', value: 'one' });
  });

  it('is tried again at each poll, since a missing secret may be added', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    Object.assign(disk, { version: '2', text: 'bad' });
    await watch.poll();

    disk.isFixed = true;

    expect(await watch.poll()).toEqual({ type: 'loaded', value: 'bad' });
  });

  it('is reported again when it has another problem', async () => {
    const { disk, watch } = await watched({ version: '1', text: 'one' });
    Object.assign(disk, { version: '2', text: 'bad' });
    await watch.poll();

    disk.text = 'worse';

    expect(await watch.poll()).toEqual({ ...refused, reason: expect.stringContaining('worse') });
  });

  it('throws at the first read', async () => {
    await expect(watched({ version: '1', text: 'bad' })).rejects.toThrow(
      new ConfigurationError(refused.reason),
    );
  });
});

interface FakeDisk extends Disk {
  version: string;
  text: string;
  /** When set, an invalid text counts as valid. */
  isFixed: boolean;
  isMissing: boolean;
  readonly reads: number;
}

async function watched(
  at: Pick<FakeDisk, 'version' | 'text'>,
): Promise<{ readonly disk: FakeDisk; readonly watch: FileWatch<string> }> {
  let reads = 0;
  const disk: FakeDisk = {
    ...at,
    isFixed: false,
    isMissing: false,
    get reads() {
      return reads;
    },
    versionAt: async () => {
      if (disk.isMissing) throw new Error('missing');
      return disk.version;
    },
    read: async () => {
      if (disk.isMissing) throw new Error('missing');
      reads += 1;
      return { version: disk.version, bytes: Buffer.from(disk.text) };
    },
  };
  const parse = async (bytes: Buffer): Promise<string> => {
    const text = bytes.toString();
    if (disk.isFixed || !/^(?:bad|worse)$/.test(text)) return text;
    throw new ConfigurationError(`it is ${text}.`);
  };
  return {
    disk,
    watch: await fileWatch('folder/models.json', parse, disk, { reader: 'jsonFileCatalog: ' }),
  };
}
