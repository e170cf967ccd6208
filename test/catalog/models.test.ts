// suite: slow
/** Models that could not be served are refused at start-up, with their path and the remedy. */

import { describe, expect, it } from 'vitest';
import { protocolNames } from '../../src/apis.ts';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import { untyped } from '../stages/ports/failing.ts';

const channel: Channel = {
  id: 'openai-1',
  dialect: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  credential: 'sk-one',
  priority: 0,
  weight: 1,
};

const gemini: Channel = { ...channel, id: 'gemini-1', dialect: 'gemini' };

const model: Model = {
  id: 'gpt-5',
  vendor: 'OpenAI',
  protocols: ['chat'],
  groups: ['chat'],
  price: { per: 'free' },
  channels: [channel],
};

type Row = readonly [path: string, values: readonly unknown[], expected: string];

const notText = [undefined, null, '', 5, 'a\nb'];
const notTextIfGiven = notText.slice(1);
const notCounts = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null];
const notNanos = [-1n, 2n ** 53n, 5, '5', null];
const nanos = "must be a bigint of nanos, such as money('0.15'), from 0n to 2^53 − 1";
const unknown = 'does not exist. Take it out, or look for its name in the types Model and Channel.';
const meant = (name: string): string =>
  `does not exist. Did you mean ${name}? The names are in the types Model and Channel.`;
const notPrintable =
  'must be printable ASCII without space around it; trim what was read from a file.';
const quoted = protocolNames.map((name) => `'${name}'`);
const listed = (conjunction: 'and' | 'or'): string =>
  `${quoted.slice(0, -1).join(', ')} ${conjunction} ${quoted.at(-1)}`;
const token = { per: 'token', rates: { input: 1n, output: 1n } };

const members: readonly Row[] = [
  ['vendor', notTextIfGiven, 'must be text of at least one character'],
  ['protocols', [null, 'chat', {}], `must be a list of ${listed('and')}.`],
  ['protocols', [[]], `must name ${listed('or')}, one at least.`],
  ['protocols[0]', [['chats'], [null]], `must be ${listed('or')}.`],
  ['groups', [undefined, null, 'chat'], 'must be a list of groups; an empty one is for nobody.'],
  ['groups[0]', notText.map((group) => [group]), 'must be text of at least one character'],
  [
    'price',
    [undefined, null, 5, []],
    "use { per: 'free' }. Per million tokens, in code: tokenPrice({ input: '0.15', output",
  ],
  ['price.per', [{}, { per: 'call' }], "must be 'token', 'image' or 'free'."],
  [
    'price.rates.input',
    [undefined, ...notNanos].map((input) => ({ ...token, rates: { input } })),
    "tokenPrice({ input: '0.15', output: '0.60' }) makes a price of amounts per million tokens.",
  ],
  [
    'price.rates.cachedInput',
    notNanos.map((cachedInput) => ({ ...token, rates: { ...token.rates, cachedInput } })),
    nanos,
  ],
  ['price.rates.outputs', [{ ...token, rates: { input: 1n, outputs: 1n } }], meant('output')],
  ['price.rates', [{ per: 'token' }, { ...token, rates: 5 }], 'must be an object of rates'],
  ['price.tiers', [{ ...token, tiers: {} }], 'must be a list of tiers'],
  [
    'price.tiers[0].aboveInputTokens',
    notCounts.map((aboveInputTokens) => ({
      ...token,
      tiers: [{ aboveInputTokens, rates: token.rates }],
    })),
    'must be a positive integer',
  ],
  ['rates', [null, 5, []], 'must be limits: { calls: { perMinute: 60 }'],
  ['rates', [{}], 'must limit calls, tokens or both. Leave it out for no rate limits.'],
  ['rates.call', [{ call: { perMinute: 5 } }], meant('calls')],
  ['rates.calls', [{ calls: {} }], 'must state perMinute, perHour or perDay. Without it'],
  [
    'rates.tokens.perHour',
    notCounts.map((perHour) => ({ tokens: { perHour } })),
    'must be a positive integer. Without it there is no limit per hour.',
  ],
  ['price.members.magic', [{ ...token, members: { magic: {} } }], unknown],
  [
    'price.members.speed.multiplier',
    ['0', '-1', '', 'two', '1e3', 6, null].map((multiplier) => ({
      ...token,
      members: { speed: { multiplier } },
    })),
    'must be a decimal string above 0, such as "1.1".',
  ],
  [
    'price.members.web_search.perCallNanos',
    notNanos.map((perCallNanos) => ({ ...token, members: { web_search: { perCallNanos } } })),
    nanos,
  ],
  ['price.rows', [{ per: 'image' }, { per: 'image', rows: {} }], 'must be a list of rows; one'],
  [
    'price.rows',
    [{ per: 'image', rows: [] }],
    'needs a row; one without a size applies to all sizes.',
  ],
  ['price.rows[0]', [{ per: 'image', rows: [null] }], 'must be an object: { size, quality'],
  ['price.rows[0].nanos', notNanos.map((wrong) => image({ nanos: wrong })), nanos],
  ['price.rows[0].size', [image({ nanos: 1n, size: 1024 })], 'must be non-empty text'],
  ['channels', [undefined, null, {}], 'must be a list of channels; an empty one serves nobody.'],
  [
    'channels[0]',
    [[null], ['openai']],
    'must be a channel: an id, a dialect, a baseUrl and a credential.',
  ],
  ['aliases', [null, 'gpt', {}], 'must be a list of ids. Leave it out for none.'],
  ['aliases[0]', notText.map((alias) => [alias]), 'must be text of at least one character'],
  ['maxOutputTokens', notCounts, 'must be a positive integer. Leave it out if it is not known.'],
  ['contextTokens', notCounts, 'must be a positive integer. Leave it out if it is not known.'],
  ['tokensPerByte', [0, -1, '1'], 'must be a number above 0. Leave it out for 0.4.'],
  ['mediaPartTokens', [null, 5], 'must be an object of tokens by kind'],
  ['mediaPartTokens.text', [{ text: 5 }], unknown],
  ...['image', 'audio', 'video', 'document', 'reference'].map(
    (kind): Row => [
      `mediaPartTokens.${kind}`,
      notCounts.map((wrong) => ({ [kind]: wrong })),
      'must be a positive integer. Leave it out for',
    ],
  ),
  ['allow', [null, true], 'must be an object of request members'],
  ['allow.file_id', [{ file_id: 'yes' }, { file_id: false }], 'must be true, or { models'],
  ['allow.service_tier', [{ service_tier: true }], unknown],
  ['maxCandidates', notCounts, 'must be a positive integer. Leave it out for 10 images'],
  ['createdAtSeconds', notCounts, 'must be a positive integer. Leave it out if it is not known.'],
  ['displayName', [null, 5, ''], 'must be text'],
  ['description', [null, 5], 'must be text.'],
  ['timeouts', [null, 5], "must be an object. Leave it out for the gateway's own."],
  ['timeouts.idle', [{ idle: 5 }], meant('idleMs')],
  [
    'timeouts.idleMs',
    [...notCounts, undefined].map((idleMs) => ({ idleMs })),
    "must be a positive integer of ms. Leave it out for the gateway's own.",
  ],
  ['timeouts.totalMs', [{ totalMs: 2 ** 31 }], 'must be at most 2147483647 ms.'],
  ['maxTokens', [5], meant('maxOutputTokens')],
];

const ofChannel: readonly Row[] = [
  ['id', notText, 'must be text of at least one character'],
  ['dialect', [undefined, null, 'OpenAI'], "must be 'openai', 'gemini' or 'anthropic'."],
  ['baseUrl', [undefined, 5], 'must be a URL, such as https://api.openai.com/v1.'],
  ['credential', [5, {}], 'must be a secret, or a function that returns one.'],
  [
    'credential',
    [undefined, null],
    'must be a secret, or a function that returns one. If it is read from an environment variable',
  ],
  [
    'credential',
    [''],
    'must not be empty. If it is read from an environment variable, set that variable.',
  ],
  ['credential', ['sk-one\n', ' sk', 'sk\u0000', 'sk-ü', 'sk\r\nx: y'], notPrintable],
  ['id', ['.', '..'], 'must not be one or two dots, which stand for folders in a path.'],
  [
    'upstreamModel',
    ['', 'a\r\nb', 5, null],
    "control characters. Leave it out for the model's id.",
  ],
  ['priority', [null, Number.NaN, Number.POSITIVE_INFINITY, '1'], 'must be a number; lower'],
  ['weight', [null, Number.NaN, Number.POSITIVE_INFINITY, '1'], 'number of 0 or above; 0'],
  ['weight', [-1], 'must be 0 or above; 0 takes no calls.'],
  ['maxPriceNanos', notNanos, nanos],
  ['capabilities', [null, 'all'], 'must be an object. Leave it out for those of the dialect’s'],
  ['capabilities.includeUsage', [{ includeUsage: 'yes' }], 'must be true or false.'],
  ['capabilities.imageBase64', [{ imageBase64: true }], "must be 'unasked' or 'response_format'."],
  ['capabilities.efforts', [{ efforts: 'low' }], "must be a list; each must be 'none', 'minimal',"],
  ['capabilities.efforts[0]', [{ efforts: ['hard'] }], "must be 'none', 'minimal', 'low',"],
  ['capabilities.thinkingBudget', [{ thinkingBudget: 5 }], 'must be a range: { min, max }'],
  ['capabilities.stopLimit', [{ stopLimit: -1 }], 'must be a whole number of 0 or above.'],
  ['capabilities.stream', [{ stream: true }], unknown],
  ['headers', [null, 'x', ['x']], 'must be an object of header names and values.'],
  ['headers["x y"]', [{ 'x y': 'a' }], 'must be a header name, which takes letters, digits and'],
  ['headers["x\\r\\ny"]', [{ 'x\r\ny': 'a' }], 'must be a header name'],
  [
    'headers["x-org"]',
    [undefined, 5, 'a\nb', 'ü', ['a']].map((value) => ({ 'x-org': value })),
    'must be text of printable ASCII without line breaks.',
  ],
  ...['Host', 'Connection', 'Authorization', 'expect', 'upgrade'].map(
    (header): Row => [
      `headers.${header}`,
      [{ [header]: 'a' }],
      'is written by the gateway; remove',
    ],
  ),
  ...['content-length', 'Transfer-Encoding', 'keep-alive'].map(
    (header): Row => [`headers["${header}"]`, [{ [header]: '5' }], 'is written by the gateway;'],
  ),
  ['hideErrors', ['yes', null, 1], 'must be true or false.'],
  [
    'timeouts.connectMs',
    notCounts.map((connectMs) => ({ connectMs })),
    'must be a positive integer',
  ],
  ['wieght', [1], meant('weight')],
];

describe('a model that writes text', () => {
  const free = { ...model, price: { per: 'free' } };

  it('needs a rate for output', () => {
    const price = { per: 'token', rates: { input: 100n } };

    refuses([{ ...model, price }], 'price.output: a model that writes text needs this rate.');
    for (const rates of [
      { input: 100n, output: 100n },
      { input: 0n, output: 0n },
    ]) {
      expect(() =>
        staticCatalog(untyped([{ ...model, price: { ...price, rates } }])()),
      ).not.toThrow();
    }
    const embeddings = { ...model, protocols: ['embeddings'], price };
    expect(() => staticCatalog(untyped([embeddings])())).not.toThrow();
    expect(() => staticCatalog(untyped([free])())).not.toThrow();
  });
});

describe('a catalog refuses', () => {
  it.each(members)('a model for its %s', (path, values, expected) => {
    for (const value of values) {
      const bad = { ...model, id: 'bad', [firstMemberOf(path)]: value };

      refuses([model, bad], `Model "bad": models[1].${path} `, expected);
    }
  });

  it.each(ofChannel)('a channel for its %s', (path, values, expected) => {
    for (const value of values) {
      const bad = { ...channel, [firstMemberOf(path)]: value };

      refuses(
        [{ ...model, channels: [gemini, bad], protocols: ['chat', 'native'] }],
        `Model "gpt-5": models[0].channels[1].${path} `,
        expected.replace('’', "'"),
      );
    }
  });

  it.each(notText)('a model whose id is %o', (id) => {
    refuses([{ ...model, id }], 'models[0].id ', 'must be text of at least one character');
  });

  it.each([[null], [undefined], ['gpt-5'], [5], [[]]])('a model that is %o', (bad) => {
    refuses(
      [model, bad],
      'staticCatalog: models[1] ',
      'must be a model: an id, groups, a price and channels.',
    );
  });

  it.each([null, undefined, {}, 'gpt-5'])('models that are %o', (models) => {
    refuses(models, 'staticCatalog: models must be a list. Give it [] for none.');
  });

  it('a name that is taken', () => {
    const taken = 'Model "other": models[1].aliases[0]: the id or alias "gpt-5" is taken.';

    refuses([model, { ...model, id: 'other', aliases: ['gpt-5'] }], taken, 'must be distinct.');
    refuses([model, model], 'Model "gpt-5": models[1].id: the id or alias "gpt-5" is taken.');
  });

  it('two channels with the same id', () => {
    const channels = [channel, channel];

    refuses(
      [{ ...model, channels }],
      'Model "gpt-5": models[0].channels[1].id: two of its channels have the same id.',
      'Give',
    );
  });

  it.each([
    { baseUrl: 'https://b/v1' },
    { credential: 'sk-two' },
    { dialect: 'gemini' },
  ])('one account that two models describe differently: %o', (change) => {
    const channels = [{ ...channel, ...change }];
    const other = { ...model, id: 'other', protocols: ['chat', 'native'], channels };
    const path = `models[1].channels[0].${Object.keys(change)[0]}`;

    refuses(
      [model, other],
      `Model "other": ${path}: channel "openai-1" has another`,
      'or use two ids.',
    );
  });

  it('a channel that can serve none of its protocols', () => {
    const channels = [{ ...channel, dialect: 'anthropic' }];
    const expected = 'channel "openai-1" of the dialect anthropic can\'t serve images';

    refuses(
      [{ ...model, protocols: ['images'], channels }],
      `Model "gpt-5": models[0].channels[0].dialect: ${expected}`,
      'remove',
    );
  });

  it('without repeating a secret in its message', () => {
    const wrong = [
      { baseUrl: 'https://user:hunter2@a' },
      { credential: 'hunter2\n' },
      { headers: { 'x-key': 'hunter2\n' } },
    ];

    for (const change of wrong) {
      const channels = [{ ...channel, ...change }];
      expect(() => staticCatalog([{ ...model, channels }])).toThrow(/^(?!.*hunter2)/s);
    }
  });
});

describe('a catalog serves', () => {
  it('a model without channels, and one account under two models', () => {
    const models = [model, { ...model, id: 'other' }, { ...model, id: 'bare', channels: [] }];

    expect(staticCatalog(models).list('chat', 'chat')).toEqual(models);
  });

  it('a model with every member', () => {
    const full: Model = {
      ...model,
      protocols: ['chat', 'images', 'native'],
      price: { per: 'image', rows: [{ size: '1024x1024', quality: 'low', nanos: 1n }] },
      channels: [
        {
          ...channel,
          credential: async () => 'sk-one',
          upstreamModel: 'gpt-5-2025',
          maxPriceNanos: 1n,
          capabilities: { includeUsage: false, imageBase64: 'response_format' },
          headers: { 'OpenAI-Organization': 'org one' },
          hideErrors: true,
          timeouts: { connectMs: 1 },
        },
        gemini,
      ],
      aliases: ['gpt-latest'],
      maxOutputTokens: 1,
      contextTokens: 1,
      tokensPerByte: 1,
      mediaPartTokens: { image: 1, audio: 1, video: 1, document: 1, reference: 1 },
      allow: { file_id: true, models: { models: ['gpt-5-mini'] } },
      maxCandidates: 1,
      createdAtSeconds: 1,
      displayName: 'GPT-5',
      description: '',
      timeouts: { totalMs: 1 },
    };

    expect(staticCatalog([full]).find('gpt-latest')).toEqual(full);
  });

  it('an instance of a class unchanged, and any other model as one copy', () => {
    const instance: Model = Object.assign(Object.create({}), model);

    expect(staticCatalog([instance]).find('gpt-5')).toBe(instance);
    const catalog = staticCatalog([{ ...model, aliases: ['gpt-latest'] }]);
    expect(catalog.find('gpt-latest')).toBe(catalog.find('gpt-5'));
  });
});

function image(row: object): object {
  return { per: 'image', rows: [row] };
}

function firstMemberOf(path: string): string {
  return path.replace(/[.[].*$/s, '');
}

function refuses(models: unknown, ...expected: readonly string[]): void {
  const refused = () => staticCatalog(untyped(models)());

  expect(refused).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
  for (const text of expected) expect(refused).toThrow(text);
}
