/** Issue 4: a catalog from a JSON file: what may stand in it, and what is said of what may not. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Model } from '../../src/ports/catalog.ts';
import { priceToJson } from '../../src/prices/codec.ts';
import { catalogContract } from '../../src/testing/contracts/catalog.ts';
import { mad } from '../stages/failing.ts';
import { channelJson, fileScene, modelJson, modelsJson } from './file-catalog-scene.ts';

describe('jsonFileCatalog', () => {
  const contract = catalogContract(async (models) => {
    const { write, open } = await fileScene();
    const priced = models.map((model) => ({ ...model, price: priceToJson(model.price) }));
    await write(`{"models":${JSON.stringify(priced, (_name, value) => plain(value))}}`);
    const catalog = await open();
    return { catalog, cleanup: catalog.close };
  });
  for (const { name, run } of contract) it(name, run);

  it('reads amounts as numbers or text, and secrets from where they are said to be', async () => {
    vi.stubEnv('OPENAI_KEY_OF_TEST', 'sk-env');
    const { write, open } = await fileScene();
    const named = { ...channelJson, id: 'two', credential: { name: 'vault/two' } };
    const channels = [
      { ...channelJson, credential: { env: 'OPENAI_KEY_OF_TEST' }, maxPriceNanos: 7 },
      { ...named, maxPriceNanos: '9007199254740991', headers: { costNanos: 'text' } },
    ];
    const rows = [{ size: '1024x1024', price: '0.04' }, { price: '0.05' }];
    const drawing = { ...modelJson, id: 'draw', protocols: ['images'] };
    await write({
      models: [
        { ...modelJson, channels },
        { ...drawing, price: { per: 'image', rows } },
      ],
    });

    const catalog = await open({ credentials: async (name) => `sk-${name}` });

    expect(catalog.find('gpt-5')).toEqual({
      ...modelJson,
      price: {
        per: 'token',
        rates: { input: 1n, output: 2_500_000_000n },
      },
      channels: [
        { ...channelJson, credential: 'sk-env', maxPriceNanos: 7n },
        {
          ...named,
          credential: 'sk-vault/two',
          maxPriceNanos: 9_007_199_254_740_991n,
          headers: { costNanos: 'text' },
        },
      ],
    } satisfies Model);
    expect(catalog.find('draw')?.price).toEqual({
      per: 'image',
      rows: [{ size: '1024x1024', nanos: 40_000_000n }, { nanos: 50_000_000n }],
    });
  });

  it('asks for a secret once, however many channels share it', async () => {
    const { write, open } = await fileScene();
    const channels = [{ ...channelJson, credential: { name: 'shared' } }];
    await write({ models: ['a', 'b', 'c'].map((id) => ({ ...modelJson, id, channels })) });
    const asked: string[] = [];

    await open({
      credentials: (name) => {
        asked.push(name);
        return `sk-${asked.length}`;
      },
    });

    expect(asked).toEqual(['shared']);
  });

  it('takes a secret out of the file only where the host says so', async () => {
    const { write, open } = await fileScene();
    const channels = [{ ...channelJson, credential: 'sk-in-the-file' }];
    await write({ models: [{ ...modelJson, channels }] });

    const refused = await refusal(open());
    const catalog = await open({ allowSecretsInFile: true });

    expect(refused).toBe(
      'jsonFileCatalog: models.json: models[0].channels[0].credential is a secret. Write ' +
        '{ "env": "NAME OF A VARIABLE" } or { "name": "…" }, or set options.allowSecretsInFile.',
    );
    expect(catalog.find('gpt-5')?.channels[0]?.credential).toBe('sk-in-the-file');
  });
});

describe('a file is refused at start', () => {
  const bom = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"models":[]}')]);
  const texts: readonly (readonly [string, string | Uint8Array, string])[] = [
    ['is empty', '', 'the text is not valid JSON at line 1, column 1. Mend it there.'],
    [
      'is no JSON',
      '{\n  "models": [,]\n}',
      'is not valid JSON at line 2, column 14. Mend it there.',
    ],
    ['stops half-way', '{"models":[{"id":"gp', 'is not valid JSON at line 1, column 21.'],
    ['is a list', '[]', 'is not an object. Write { "models": [ … ] }.'],
    [
      'names a member twice',
      '{"models":[{"id":"a","i\\u0064":"b"}]}',
      'names a member twice in one object at line 1, column 23. Take one of the two out.',
    ],
    ['nests too deep', `{"models":${'['.repeat(70)}`, 'is nested deeper than 64 levels at line 1'],
    ['begins with a mark', bom, 'begins with a byte order mark. Save it as UTF-8 without one.'],
    ['is no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'is not valid UTF-8. Save it as UTF-8.'],
    ['has no models', '{}', 'models must be a list. Write { "models": [ … ] }.'],
    [
      'has another member',
      '{"models":[],"keys":[]}',
      '"keys" does not exist. Keep "models" alone.',
    ],
    [
      'has too large a name',
      `{"${'n'.repeat(5_000)}":1}`,
      'has a name of over 4,096 bytes at line 1',
    ],
  ];

  it.each(texts)('that %s', async (_what, text, says) => {
    const { write, open } = await fileScene();
    await write(text);

    expect(await refusal(open())).toMatch(/^jsonFileCatalog: models\.json: /);
    expect(await refusal(open())).toContain(says);
  });

  const models: readonly (readonly [place: string, model: object, says: string])[] = [
    ['models[1] must be a model', [], 'an id, groups, a price'],
    ['models[1].id must be text', { ...modelJson, id: 5 }, 'one character at least'],
    [
      'models[1].channels[0].priority must be a number',
      { ...modelJson, id: 'b', channels: [{ ...channelJson, priority: '1' }] },
      'lower is tried first.',
    ],
    ['the id or alias "gpt-5" is taken', modelJson, 'share one namespace'],
    ...[
      ...['-1', '1e3', '', ' 1', '.5', '1.', '0.0000000001', '9007199.254740992', '12345678'],
      ...[0.15, 1, null, true, {}, [1]],
    ].map(
      (price) =>
        [
          'models[1].price.rows[0].price must be',
          { ...modelJson, id: 'b', price: { per: 'image', rows: [{ price }] } },
          'a decimal string of at most 9 decimals, such as "0.15", from 0 to 9007199.254740991.',
        ] as const,
    ),
    ...['-1', '1.5', '1e3', '', ' 1', '9007199254740992', 1.5, -1, 2 ** 53, null, {}].map(
      (maxPriceNanos) =>
        [
          'models[1].channels[0].maxPriceNanos must be',
          { ...modelJson, id: 'b', channels: [{ ...channelJson, maxPriceNanos }] },
          'a whole number from 0 to 2^53 − 1, or one as text: 2500000000 or "2500000000".',
        ] as const,
    ),
    [
      'models[1].price.inputPerMillion does not exist.',
      { ...modelJson, id: 'b', price: { ...modelJson.price, inputPerMillion: '1' } },
      'Take it out, or look for its name in docs/costs.md.',
    ],
    [
      'models[1].channels[0].cost.output must be',
      {
        ...modelJson,
        id: 'b',
        channels: [{ ...channelJson, cost: { ...modelJson.price, output: 1 } }],
      },
      'a decimal string',
    ],
    ...[5, null, [], {}, { env: '' }, { env: 'A', name: 'b' }, { file: 'x' }].map(
      (credential) =>
        [
          'models[1].channels[0].credential must be',
          { ...modelJson, id: 'b', channels: [{ ...channelJson, credential }] },
          '{ "env": "NAME OF A VARIABLE" } or { "name": "…" }.',
        ] as const,
    ),
  ];

  it.each(models)('where %s: %j', async (place, bad, says) => {
    const { write, open } = await fileScene();
    await write({ models: [modelJson, bad] });

    const message = await refusal(open());

    expect(message).toMatch(/^jsonFileCatalog: models\.json: (?!staticCatalog)/);
    expect(message).toContain(place);
    expect(message).toContain(says);
  });

  it('whose secret is nowhere, without a word of what stood there', async () => {
    const { write, open } = await fileScene();
    const sources: readonly (readonly [object, object, string])[] = [
      [{ env: 'sk-pasted-here' }, {}, '.env names a variable that is not set. Set it before'],
      [{ name: 'sk-pasted-here' }, {}, '.name needs options.credentials. Give a function'],
      ...[() => '', () => 5, () => undefined, async () => () => 'sk-pasted-here'].map(
        (credentials) =>
          [{ name: 'a' }, { credentials: mad(credentials)() }, 'gave no text. Make it'] as const,
      ),
      [{ name: 'a' }, { credentials: fails }, 'options.credentials failed. See to what it asks.'],
      [{ name: 'a' }, { credentials: async () => fails() }, 'options.credentials failed.'],
      [{ name: 'a' }, { credentials: () => 'sk-pasted-here\n' }, 'must be printable ASCII'],
    ];

    for (const [credential, options, says] of sources) {
      await write({ models: [{ ...modelJson, channels: [{ ...channelJson, credential }] }] });
      const message = await refusal(open(options));

      expect(message).toContain('models[0].channels[0].credential');
      expect(message).toContain(says);
      expect(message).not.toContain('sk-pasted-here');
    }
  });

  it('that is not there, or no file, or far too large, by the last part of its path', async () => {
    const { folder, write, open } = await fileScene();
    await write(Buffer.alloc(16 * 1024 * 1024 + 1, ' '));

    const missing = await refusal(open({ path: join(folder, 'missing.json') }));
    const directory = await refusal(open({ path: folder }));
    const large = await refusal(open());

    expect(missing).toBe(
      "jsonFileCatalog: missing.json can't be read (ENOENT). Put it there, readable by this app.",
    );
    expect(directory).toMatch(/: what the path names is not a file\. Name a file of JSON\.$/);
    expect(large).toMatch(/is larger than 16 MiB/);
    for (const message of [missing, directory, large]) expect(message).not.toContain(`${folder}/`);
  });

  it('that is never at rest', async () => {
    const { file, write, open } = await fileScene();
    await write(' '.repeat(8 * 1024 * 1024));
    let isOver = false;
    const writer = (): void => {
      appendFileSync(file, ' ');
      if (!isOver) setImmediate(writer);
    };
    writer();

    const message = await refusal(open()).finally(() => {
      isOver = true;
    });

    expect(message).toContain('changes while it is read. Write a new file beside it, and rename');
  });

  it('with options that are wrong', async () => {
    const { write, open } = await fileScene();
    await write(modelsJson('a'));

    expect(await refusal(open(mad({ path: 5 })()))).toBe(
      'jsonFileCatalog: options.path must be the path of a file. Give it the file to read.',
    );
    expect(await refusal(open(mad({ pollMs: 0 })()))).toContain(
      'options.pollMs must be a positive',
    );
    expect(await refusal(open(mad({ file: 'x' })()))).toContain('options.file does not exist.');
  });
});

function fails(): never {
  throw new Error('the vault is sealed');
}

/** What it refuses with. */
async function refusal(opening: Promise<unknown>): Promise<string> {
  const error: unknown = await opening.then(() => undefined).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: 'ConfigurationError' });
  return error instanceof Error ? error.message : '';
}

function plain(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
