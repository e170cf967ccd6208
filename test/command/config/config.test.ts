// suite: slow
/** The configuration file: what is valid, and that each mistake is named by its path. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configJsonSchema } from '../../../src/command/config/json-schema.ts';
import { readConfig } from '../../../src/command/config/read.ts';
import { storeChoice } from '../../../src/command/config/store-choice.ts';
import { isJsonObject, type JsonValue } from '../../../src/json.ts';
import { formatPath, type Path } from '../../../src/ports/problems.ts';
import { at, changed, env, pathsIn, read, refusal, whole } from './whole-config.ts';

describe('tollgate.json', () => {
  it('may have all members at once', async () => {
    const { config, models } = await read(whole);

    expect(config.listen?.port).toBe(8787);
    expect(models?.map(({ id }) => id)).toEqual(['gpt-4o-mini']);
    expect(models?.[0]?.channels[0]?.credential).toBe('the-account-key');
  });

  it('takes two secrets of notifications, from variables only', async () => {
    const reference = '\u0024{SIGNING}';
    const secrets = (...of: readonly string[]) => changed(whole, ['notify', 0, 'secret'], [...of]);

    const { config } = await read(secrets(reference, reference));
    const message = await refusal(secrets(reference, env.SIGNING));

    expect(config.notify?.[0]?.secret).toEqual([env.SIGNING, env.SIGNING]);
    expect(message).toContain('notify[0].secret[1] is a secret.');
    expect(message).not.toContain(env.SIGNING);
  });

  it('names each member of a wrong type by its path', async () => {
    const paths = pathsIn(whole);
    for (const path of paths) {
      const message = await refusal(changed(whole, path, wrongFor(path)));

      expect(message, formatPath('', path)).toContain(formatPath('', path));
    }
    expect(paths.length).toBeGreaterThan(80);
  });

  it('names each member that does not exist by its path', async () => {
    const paths = [[], ...pathsIn(whole)].filter((path) => isJsonObject(at(whole, path)));
    for (const path of paths) {
      const place = [...path, 'misspelt'];

      expect(await refusal(changed(whole, place, 1))).toContain(formatPath('', place));
    }
    expect(paths.length).toBeGreaterThan(15);
  });

  it('names each member whose variable is not set, and never a value', async () => {
    for (const path of pathsIn(whole).filter((one) => typeof at(whole, one) === 'string')) {
      const message = await refusal(changed(whole, path, '\u0024{NOT_SET}'));

      expect(message).toContain(`${formatPath('', path)} needs the environment variable NOT_SET`);
    }
    expect(await refusal(changed(whole, ['listen', 'host'], '\u0024{EMPTY}'))).toContain('EMPTY');
    expect(await refusal(changed(whole, ['listen', 'host'], '\u0024{a b}'))).toContain(
      'listen.host',
    );
  });

  it('refuses each secret that stands in the file, without repeating it', async () => {
    const secrets: readonly Path[] = [
      ['catalog', 'models', 0, 'channels', 0, 'credential'],
      ['admin', 'token'],
      ['keys', 'pepper'],
      ['keys', 'fixed', 0, 'secret'],
    ];
    for (const path of secrets) {
      const message = await refusal(changed(whole, path, 'sk-canary'));

      expect(message).toContain(`${formatPath('', path)} is a secret`);
      expect(message).not.toContain('canary');
    }
  });

  it('refuses tokens of operators that have a name or a secret in common', async () => {
    const all = ['admin.token', 'ada', 'eve'].flatMap((name) =>
      ['SECRET', 'TOKEN', 'SIGNING'].map((secret) => ({ name, secret })),
    );
    const own = { name: 'admin.token', secret: 'SECRET' };
    const areAlike = (one: typeof own, two: typeof own): boolean =>
      one.name === two.name || one.secret === two.secret;
    for (const [one, two] of all.flatMap((first) =>
      all.map((second) => [first, second] as const),
    )) {
      const tokens = [one, two].map(({ name, secret }) => ({
        ...{ name, token: `\u0024{${secret}}`, can: 'read' },
      }));
      const message = await refusal(changed(whole, ['admin', 'tokens'], tokens));

      expect(message.includes('admin.tokens must'), JSON.stringify(tokens)).toBe(
        areAlike(one, two) || areAlike(one, own) || areAlike(two, own),
      );
    }
    const blank = [{ name: ' ', token: '\u0024{TOKEN}', can: 'read' }];
    expect(await refusal(changed(whole, ['admin', 'tokens'], blank))).toContain('name must be');
  });

  it('names each store that is chosen but not configured', async () => {
    for (const [name, store] of Object.entries(storeChoice(storesOf(whole)))) {
      // The cluster is wherever the tables are; nobody chooses it.
      if (store === 'memory' || name === 'cluster') continue;
      const message = await refusal(changed(whole, ['stores', store], undefined));

      expect(message).toContain(`stores.${name} is "${store}"`);
    }
  });

  it('replaces variables inside texts, with defaults, and leaves escaped ones', async () => {
    const listen = {
      port: '\u0024{PORT}',
      host: '\u0024{HOST:-localhost}',
      basePath: '/$\u0024{x}',
    };
    const { config } = await read(changed(whole, ['listen'], listen));

    expect(config.listen).toEqual({ port: 8080, host: 'localhost', basePath: '/\u0024{x}' });
  });

  it.each([
    ['{"catalog": {},}', 'not valid JSON at line 1'],
    ['[]', 'is not an object'],
    ['{"catalog": 1, "catalog": 2}', 'names a member twice'],
    ['{}', 'catalog is missing, and must be'],
    ['{"catalog": {"file": "a", "store": "sqlite"}}', 'exactly one of'],
    [
      '{"catalog": {"file": "a"}, "keys": {"fixed": []}, "stores": {"sqlite": {"path": "p"}}}',
      'keys.fixed',
    ],
  ])('refuses %s', async (text, sentence) => {
    await expect(readConfig(Buffer.from(text), env)).rejects.toThrow(sentence);
  });

  it('is shown by a valid example, and by one in the docs', async () => {
    const root = new URL('../../../', import.meta.url);
    const example = readFileSync(new URL('examples/tollgate.example.json', root));
    const page = readFileSync(new URL('docs/command.md', root), 'utf8');
    const [, shown = ''] = /```json\n(.+?)\n```/s.exec(page) ?? [];
    const variables = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'KEY_PEPPER'].map((name) => [
      name,
      'x',
    ]);
    const urls = { DATABASE_URL: 'postgres://h/d', REDIS_URL: 'redis://h' };
    const given = { ...Object.fromEntries(variables), ...urls };

    expect((await readConfig(example, given)).models).toHaveLength(2);
    expect((await readConfig(Buffer.from(shown), given)).models).toHaveLength(1);
  });

  it('has a JSON Schema that knows every member of it', () => {
    const schema = configJsonSchema();
    for (const path of pathsIn(whole)) {
      const name = path.at(-1);
      if (typeof name === 'string') expect(JSON.stringify(schema)).toContain(`"${name}":`);
    }
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
    expect(schema).toHaveProperty('$defs.model.properties.price.anyOf[1]', {
      type: 'object',
      properties: { from: { type: 'string' } },
      required: ['from'],
      additionalProperties: false,
    });
  });
});

describe('the choice of stores', () => {
  const [sqlite, postgres, redis] = [{ path: 'p' }, { url: 'u' }, { url: 'u' }];

  it.each([
    [{}, 'memory', 'memory', 'memory'],
    [{ sqlite }, 'sqlite', 'sqlite', 'sqlite'],
    [{ postgres, sqlite }, 'postgres', 'postgres', 'postgres'],
    [{ redis }, 'memory', 'redis', 'redis'],
    [{ postgres, redis }, 'postgres', 'postgres', 'redis'],
    [{ postgres, redis, rates: 'postgres' as const }, 'postgres', 'postgres', 'postgres'],
    [{ postgres, redis, quota: 'redis' as const }, 'postgres', 'redis', 'redis'],
  ])('%j keeps keys in %s, quota in %s and rates in %s', (stores, keys, quota, rates) => {
    expect(storeChoice(stores)).toMatchObject({ keys, quota, rates, results: 'memory' });
  });
});

/** A value that no member takes: an object where a text or number belongs, else a number. */
function wrongFor(path: Path): JsonValue {
  const value = at(whole, path);
  return typeof value === 'object' ? 7 : { wrong: true };
}

function storesOf(value: JsonValue): Parameters<typeof storeChoice>[0] {
  const stores = at(value, ['stores']);
  return typeof stores === 'object' && stores !== null ? stores : {};
}
