// suite: slow
/** A catalog from a JSON file: what it accepts, and the error messages for what it refuses. */
import { appendFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Model } from '../../src/ports/models/catalog.ts';
import { priceToJson } from '../../src/prices/codec.ts';
import { catalogContract } from '../../src/testing/contracts/catalog.ts';
import { untyped } from '../stages/ports/failing.ts';
import { catalogFile, channelJson, modelJson, modelsJson } from './catalog-file.ts';

describe('jsonFileCatalog', () => {
  const contract = catalogContract(async (models) => {
    const { write, open } = await catalogFile();
    const priced = models.map((model) => ({ ...model, price: priceToJson(model.price) }));
    await write(`{"models":${JSON.stringify(priced, (_name, value) => plain(value))}}`);
    const catalog = await open();
    return { catalog, cleanup: catalog.close };
  });
  for (const { name, run } of contract) it(name, run);

  it('reads amounts as numbers or text, and secrets by their references', async () => {
    vi.stubEnv('OPENAI_KEY_OF_TEST', 'sk-env');
    const { write, open } = await catalogFile();
    const named = {
      ...channelJson,
      ...({ id: 'two', credential: { name: 'vault/two' }, cost: 'reported' } as const),
    };
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

  it('resolves a secret once, however many channels share it', async () => {
    const { write, open } = await catalogFile();
    const channels = [{ ...channelJson, credential: { name: 'shared' } }];
    await write({ models: ['a', 'b', 'c'].map((id) => ({ ...modelJson, id, channels })) });
    const resolved: string[] = [];

    await open({
      credentials: (name) => {
        resolved.push(name);
        return `sk-${resolved.length}`;
      },
    });

    expect(resolved).toEqual(['shared']);
  });

  it('accepts a secret in the file only if the host allows it', async () => {
    const { write, open } = await catalogFile();
    const channels = [{ ...channelJson, credential: 'sk-in-the-file' }];
    await write({ models: [{ ...modelJson, channels }] });

    const refused = await refusal(open());
    const catalog = await open({ allowSecretsInFile: true });

    expect(refused).toBe(
      'jsonFileCatalog: models.json: models[0].channels[0].credential is a secret. Write ' +
        '{ "env": "NAME OF A VARIABLE" } or { "name": "…" }. ' +
        'In code, options.allowSecretsInFile allows it.',
    );
    expect(catalog.find('gpt-5')?.channels[0]?.credential).toBe('sk-in-the-file');
  });
});

describe('a file is refused at start-up', () => {
  const bom = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"models":[]}')]);
  const texts: readonly (readonly [string, string | Uint8Array, string])[] = [
    ['is empty', '', 'the text is not valid JSON at line 1, column 1. Fix it there.'],
    [
      'is not JSON',
      '{\n  "models": [,]\n}',
      'is not valid JSON at line 2, column 14. Fix it there.',
    ],
    ['stops half-way', '{"models":[{"id":"gp', 'is not valid JSON at line 1, column 21.'],
    ['is a list', '[]', 'is not an object. Write { "models": [ … ] }.'],
    [
      'names a member twice',
      '{"models":[{"id":"a","i\\u0064":"b"}]}',
      'names a member twice in one object at line 1, column 23. Remove one of the two.',
    ],
    ['nests too deep', `{"models":${'['.repeat(70)}`, 'is nested deeper than 64 levels at line 1'],
    [
      'begins with a byte order mark',
      bom,
      'begins with a byte order mark. Save it as UTF-8 without one.',
    ],
    ['is not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'is not valid UTF-8. Save it as UTF-8.'],
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

  it.each(texts)('that %s', async (_problem, text, expected) => {
    const { write, open } = await catalogFile();
    await write(text);

    expect(await refusal(open())).toMatch(/^jsonFileCatalog: models\.json: /);
    expect(await refusal(open())).toContain(expected);
  });

  const models: readonly (readonly [problem: string, model: object, expected: string])[] = [
    ['models[1] must be a model', [], 'an id, groups, a price'],
    ['models[1].id must be text', { ...modelJson, id: 5 }, 'at least one character'],
    [
      'models[1].channels[0].priority must be a number',
      { ...modelJson, id: 'b', channels: [{ ...channelJson, priority: '1' }] },
      'lower is tried first.',
    ],
    ['the id or alias "gpt-5" is taken', modelJson, 'must be distinct'],
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
    [
      'models[1].channels[0].cost must be',
      { ...modelJson, id: 'b', channels: [{ ...channelJson, cost: 'guessed' }] },
      "a price, or 'reported'",
    ],
    ...[5, null, [], {}, { env: '' }, { env: 'A', name: 'b' }, { file: 'x' }].map(
      (credential) =>
        [
          'models[1].channels[0].credential must be',
          { ...modelJson, id: 'b', channels: [{ ...channelJson, credential }] },
          '{ "env": "NAME OF A VARIABLE" } or { "name": "…" }, or { "aws": {} }, ',
        ] as const,
    ),
  ];

  it.each(models)('if %s: %j', async (problem, invalid, expected) => {
    const { write, open } = await catalogFile();
    await write({ models: [modelJson, invalid] });

    const message = await refusal(open());

    expect(message).toMatch(/^jsonFileCatalog: models\.json: (?!staticCatalog)/);
    expect(message).toContain(problem);
    expect(message).toContain(expected);
  });

  it('if a secret is not found, without repeating what was written there', async () => {
    const { write, open } = await catalogFile();
    const sources: readonly (readonly [object, object, string])[] = [
      [{ env: 'sk-pasted-here' }, {}, '.env names a variable that is not set. Set it before'],
      [
        { env: 'NO_SUCH_API_KEY' },
        {},
        '.env names NO_SUCH_API_KEY, which is not set. Set it before the file is read.',
      ],
      [{ name: 'sk-pasted-here' }, {}, '.name needs in code options.credentials, a function'],
      ...[() => '', () => 5, () => undefined, async () => () => 'sk-pasted-here'].map(
        (credentials) =>
          [
            { name: 'a' },
            { credentials: untyped(credentials)() },
            'returned no text. Add',
          ] as const,
      ),
      [{ name: 'a' }, { credentials: fails }, 'options.credentials failed. See the cause.'],
      [{ name: 'a' }, { credentials: async () => fails() }, 'options.credentials failed.'],
      [{ name: 'a' }, { credentials: () => 'sk-pasted-here\n' }, 'must be printable ASCII'],
    ];

    for (const [credential, options, expected] of sources) {
      await write({ models: [{ ...modelJson, channels: [{ ...channelJson, credential }] }] });
      const message = await refusal(open(options));

      expect(message).toContain('models[0].channels[0].credential');
      expect(message).toContain(expected);
      expect(message).not.toContain('sk-pasted-here');
    }
  });

  it('if it is missing, by its whole path, which a relative one does not show', async () => {
    const { folder, open } = await catalogFile();
    const path = join(folder, 'missing.json');

    for (const given of [path, relative(process.cwd(), path)]) {
      expect(await refusal(open({ path: given }))).toBe(
        `jsonFileCatalog: ${path} can't be read (ENOENT). ` +
          'It must exist and be readable by this app.',
      );
    }
  });

  it('if it is not a file, or too large, by its base name', async () => {
    const { folder, write, open } = await catalogFile();
    await write(Buffer.alloc(16 * 1024 * 1024 + 1, ' '));

    const directory = await refusal(open({ path: folder }));
    const large = await refusal(open());

    expect(directory).toMatch(/: the path is not a regular file\. Name a JSON file\.$/);
    expect(large).toMatch(/is larger than 16 MiB/);
    for (const message of [directory, large]) expect(message).not.toContain(`${folder}/`);
  });

  it('if it keeps changing', async () => {
    const { file, write, open } = await catalogFile();
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

    expect(message).toContain('changes while it is read. Write a new file next to it, then rename');
  });

  it('if options are wrong', async () => {
    const { write, open } = await catalogFile();
    await write(modelsJson('a'));

    expect(await refusal(open(untyped({ path: 5 })()))).toBe(
      'jsonFileCatalog: options.path must be the path of a file. Give it the file to read.',
    );
    expect(await refusal(open(untyped({ pollMs: 0 })()))).toContain(
      'options.pollMs must be a positive',
    );
    expect(await refusal(open(untyped({ file: 'x' })()))).toContain('options.file does not exist.');
  });
});

function fails(): never {
  throw new Error('the vault is sealed');
}

/** The message of the ConfigurationError that opening rejects with. */
async function refusal(opening: Promise<unknown>): Promise<string> {
  const error: unknown = await opening.then(() => undefined).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: 'ConfigurationError' });
  return error instanceof Error ? error.message : '';
}

function plain(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
