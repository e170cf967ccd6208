// suite: search
/**
 * Mistakes in the configuration file, in every combination: all are reported at once, each by its
 * path. Variables may have any content: it stays text, and is in no message.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/json.ts';
import { formatPath, type Path } from '../../../src/ports/problems.ts';
import { runsOf } from '../../support/sample.ts';
import { at, changed, env, pathsIn, read, refusal, whole } from './whole-config.ts';

const model: Path = ['catalog', 'models', 0];
const channel: Path = [...model, 'channels', 0];
const other: Path = ['catalog', 'models', 1];

/** With a second model and a second key that can contradict the first, and without SQLite. */
const valid = withAll(whole, [
  [other, { ...objectAt(model), id: 'other', aliases: ['also'] }],
  [[...other, 'channels'], [{ ...objectAt(channel), id: 'openai-2' }]],
  [['keys', 'fixed', 1], { ...objectAt(['keys', 'fixed', 0]), id: 'two', secret: '\u0024{OTHER}' }],
  [['stores', 'sqlite'], undefined],
  [['stores', 'idempotency'], 'memory'],
]);
const variables = {
  ...env,
  OTHER: 'another-long-secret-of-a-caller-987',
  WEAK: 'canary',
  FORGED: `tg_${'canary'.repeat(10)}`,
};

/** A member, a wrong value for it, and the beginning of its message. */
type Mistake = readonly [path: Path, value: JsonValue | undefined, report: string];

/** None of them causes another. */
const mistakes: readonly Mistake[] = [
  [['listen', 'port'], 70_000, 'listen.port must be a port'],
  [['listen', 'host'], '\u0024{NOT_SET}', 'listen.host needs the environment variable NOT_SET'],
  [['listen', 'basePath'], '\u0024{not a name}', 'listen.basePath must name a variable'],
  [['gateway', 'timeouts', 'idleMs'], -1, 'gateway.timeouts.idleMs must be'],
  [['gateway', 'misspelt'], 1, 'gateway.misspelt does not exist'],
  [['gateway', 'misspelt too'], 1, 'gateway["misspelt too"] does not exist'],
  [['log', 'level'], 'loud', 'log.level must be'],
  [['shutdown', 'drainMs'], 'soon', 'shutdown.drainMs must be'],
  [['metrics', 'path'], 'no-slash', 'metrics.path must be'],
  [[...model, 'price', 'input'], 'a', 'catalog.models[0].price.input must be'],
  [[...model, 'price', 'output'], -1, 'catalog.models[0].price.output must be'],
  [[...model, 'maxOutputTokens'], -1, 'catalog.models[0].maxOutputTokens must be'],
  [[...model, 'groups'], undefined, 'catalog.models[0].groups is missing, and must be'],
  [[...channel, 'dialect'], 'nope', 'catalog.models[0].channels[0].dialect must be'],
  [[...channel, 'credential'], 'sk-canary', 'catalog.models[0].channels[0].credential is a secret'],
  [[...other, 'aliases', 0], 'gpt-4o-mini', 'catalog.models[1].aliases[0]: the id or alias'],
  [[...other, 'fallbacks'], ['nobody'], 'catalog.models[1].fallbacks[0]: its fallback "nobody"'],
  [
    [...other, 'channels', 0, 'baseUrl'],
    'https://api.openai.com',
    'catalog.models[1].channels[0].baseUrl: channel "openai-2": its baseUrl has no API version',
  ],
  [['stores', 'rates'], 'disk', 'stores.rates must be'],
  [['stores', 'idempotency'], 'sqlite', 'stores.idempotency is "sqlite", but there is no'],
  [['keys', 'fixed', 0, 'limit'], 5, 'keys.fixed[0].limit must be'],
  [['keys', 'fixed', 0, 'secret'], '\u0024{FORGED}', 'keys.fixed[0].secret begins with tg_'],
  [['keys', 'fixed', 1, 'id'], 'team', 'keys.fixed[1].id is the same as keys.fixed[0].id'],
  [['keys', 'fixed', 1, 'secret'], '\u0024{WEAK}', 'keys.fixed[1].secret has under 96 bits'],
  [['admin', 'port'], 9464, 'admin.port is 9464, as is metrics.port'],
  [['admin', 'token'], '\u0024{WEAK}', 'admin.token must be a secret of at least 32'],
];

describe('mistakes in tollgate.json', () => {
  it('are all reported at once, each by its path, and nothing else is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.subarray([...mistakes], { minLength: 1 }), async (planted) => {
        const message = await refusal(withAll(valid, planted), variables);
        const lines = message.split('\n');

        for (const [, , report] of planted) expect(message).toContain(report);
        expect(lines, message).toHaveLength(planted.length);
        expect(message).not.toContain('canary');
      }),
      { numRuns: runsOf(100) },
    );
    await expect(read(valid, variables)).resolves.toBeDefined();
  });

  it('of a kind that a member can have hide no other mistake', async () => {
    const far: Mistake = [['log', 'level'], 'loud', 'log.level must be'];
    for (const path of pathsIn(valid).filter(([first]) => first !== 'log')) {
      for (const wrong of [{ wrong: true }, 7, '\u0024{NOT_SET}']) {
        const message = await refusal(withAll(valid, [[path, wrong, ''], far]), variables);

        expect(message, formatPath('', path)).toContain(far[2]);
      }
    }
  });

  it('are named where a required member is missing, at any depth', async () => {
    let required = 0;
    for (const path of pathsIn(valid)) {
      const message = await refusal(changed(valid, path, undefined), variables);
      if (message === 'nothing was refused') continue;
      required += 1;
      const [place, holder] = [path, path.slice(0, -1)].map((one) => formatPath('', one));

      expect(message.includes(`${place}`) || message.startsWith(`${holder} `), message).toBe(true);
      expect(message).not.toMatch(/secret-of-a-caller|the-account-key/);
    }
    expect(required).toBeGreaterThan(20);
  });

  it('that are many are counted, and not all written out', async () => {
    const models = Array.from({ length: 80 }, (_, index) => ({ id: `model-${index}` }));
    const message = await refusal({ catalog: { models } });

    expect(message.split('\n')).toHaveLength(51);
    expect(message).toMatch(/There are \d+ more problems\.$/);
  });
});

/** Texts that would mean something, if they were read as JSON, as references or as code. */
const hostile: readonly string[] = [
  '"canary"',
  "'canary'",
  'canary\nlisten: 1',
  'canary"}, "admin": { "port": 1 }, "x": {"y": "',
  'canary\u0024{OTHER}',
  '\u0024{OTHER}canary',
  '$\u0024{canary}',
  'canary\\u0022\\',
  "$&canary$1$'",
  '{"env": "canary"}',
  'canary\u0000',
  '__proto__canary',
  ' canary ',
  'canary'.repeat(2_000),
];

describe('a variable of any content', () => {
  it('stays the text of its member, and reaches no message', async () => {
    const texts = pathsIn(valid).filter((path) => typeof at(valid, path) === 'string');
    for (const path of texts) {
      const value = changed(valid, path, '\u0024{HOSTILE}');
      for (const text of hostile) {
        const given = { ...variables, HOSTILE: text };
        const message = await refusal(value, given);
        const place = formatPath('', path);

        expect(message, place).not.toMatch(/another-long-secret|the-account-key/);
        if (message !== 'nothing was refused') {
          expect(message, place).toContain(place);
          if (!isNameInMessages(path)) expect(message, place).not.toContain('canary');
        } else {
          expect(at((await read(value, given)).config, path)).toBe(text);
        }
      }
    }
    expect(texts.length).toBeGreaterThan(40);
  });

  it('must be set: an inherited property of objects is not a variable', async () => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const host = ['${', name, '}'].join('');

      expect(await refusal(changed(valid, ['listen', 'host'], host), variables)).toContain(
        `listen.host needs the environment variable ${name}`,
      );
    }
  });
});

/** A copy with some members changed, in this order. */
function withAll(
  value: JsonValue,
  changes: readonly (readonly [path: Path, value: JsonValue | undefined, ...unknown[]])[],
): JsonValue {
  return changes.reduce((changing, [path, to]) => changed(changing, path, to), value);
}

function objectAt(path: Path): JsonObject {
  const found = at(whole, path);
  if (!isJsonObject(found)) throw new Error(`there is no object at ${formatPath('', path)}`);
  return found;
}

/** Messages have the ids of models, channels and stores, by which an operator knows them. */
function isNameInMessages(path: Path): boolean {
  return path.at(-1) === 'id' || path.includes('aliases');
}
