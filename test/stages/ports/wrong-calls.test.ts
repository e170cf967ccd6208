// suite: quick
/** The common mistakes of callers: the error names what is wrong and what to do instead. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { guardedRows } from '../../../src/protocols/guarded-members.ts';
import { routesOf } from '../../../src/protocols/routes.ts';
import { protocols } from '../../../src/protocols/table.ts';
import {
  type CallerRequest,
  callerSecret,
  gatewayInProcess,
} from '../../support/gateway-in-process.ts';
import { chat, defaultModels, model, sampleRequests } from '../../support/models.ts';
import { routeSettings } from '../../support/route-settings.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';

type Setup = NonNullable<Parameters<typeof gatewayInProcess>[0]>;

/** The error that the caller gets, and what the host is told beside it. */
async function refusalOf(
  request: CallerRequest,
  setup: Setup = {},
): Promise<{ readonly text: string; readonly remedy: string }> {
  const { call, allEvents } = gatewayInProcess(setup);
  const { text } = await call(request);
  const event = allEvents.find(({ type }) => type === 'call_refused');
  const remedy = event !== undefined && 'remedy' in event ? (event.remedy ?? '') : '';
  return { text: JSON.parse(text).error?.message ?? text, remedy };
}

describe('a model that the key’s group may not use', () => {
  it('is refused with the remedies of the caller and of the host', async () => {
    const { text, remedy } = await refusalOf(chat({ model: 'foreign' }));

    expect(text).toBe(
      'This key\'s group may not use the model "foreign". ' +
        'Choose a model from GET /v1/models, or ask whoever issued the key.',
    );
    expect(remedy).toBe(
      'The key is in the group "staff", and the `groups` of the model "foreign" are ["others"]: ' +
        'add the group there, or give the key one of these.',
    );
  });

  it('is reported once for a group that no model lists, with or without a listener', async () => {
    const { call } = gatewayInProcess({ models: [model({ groups: ['staf'] })] });
    await call(chat());
    await call(chat());
    await call({ method: 'GET', path: '/v1/models' });

    const warnings = await takeWarnings();
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^The key "caller" is in the group "staff", which no model lists in its `groups`: check/,
      ),
    ]);
  });

  it('is not reported for a group that another model lists, nor if the catalog fails', async () => {
    await gatewayInProcess().call(chat({ model: 'foreign' }));
    const [found] = [model({ groups: [] })];
    const catalog = { find: () => found, list: () => Promise.reject(new Error('down')) };
    const { text } = await refusalOf(chat(), { options: { catalog } });

    expect(text).toContain('Choose a model from GET /v1/models');
    expect(await takeWarnings()).toEqual([]);
  });
});

describe('an unknown model', () => {
  const ids = ['gpt-4o-mini', 'claude-sonnet-4-5', 'meta/llama-3.3'];
  const setup = {
    models: [
      ...ids.map((id) => model({ id })),
      model({ id: 'hidden-model', groups: ['others'] }),
      model({ id: 'picture-1', protocols: ['images'] }),
    ],
  };
  const misspelt = fc
    .constantFrom(...ids)
    .chain((id) =>
      fc.constantFrom(
        ...['openai/', 'models/', 'x-ai/beta/'].map((prefix) => [id, prefix + id] as const),
        [id, id.toUpperCase()] as const,
        [id, id.replaceAll('-', '_')] as const,
        [id, id.slice(1)] as const,
        [id, id.slice(id.lastIndexOf('/') + 1).replace(/^/, 'other/')] as const,
      ),
    );

  it('is answered with the one that was meant', async () => {
    await fc.assert(
      fc.asyncProperty(misspelt, async ([id, written]) => {
        const { text } = await refusalOf(chat({ model: written }), setup);

        expect(text).toContain(`Did you mean "${id}"? GET /v1/models lists the models.`);
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    'hidden-mode',
    'openai/hidden-model',
    'picture-2',
    'gpt-9-huge',
    'x',
  ])('is not answered with one that the key may not call here: %s', async (written) => {
    const { text } = await refusalOf(chat({ model: written }), setup);

    expect(text).toBe(
      `There is no model "${written}" here. List the models with GET /v1/models and copy a name.`,
    );
  });
});

describe('a key in the wrong place', () => {
  const apis = [sampleRequests.chat, sampleRequests.image, sampleRequests.native];
  const headers = ['api-key', 'x-api-key', 'x-goog-api-key', 'authorization'];
  const places = [
    ...headers.map((name) => ({ at: name, headers: { [name]: callerSecret } })),
    ...['key', 'api_key', 'api-key'].map((name) => ({
      at: `${name}\` in the query of the URL`,
      search: `${name}=${callerSecret}`,
    })),
  ];

  it.each(places)('is found in $at', async ({ at, ...sent }) => {
    for (const { path, body } of apis) {
      const reads = path.startsWith('/v1beta') ? ['x-goog-api-key'] : ['authorization'];
      if (reads.includes(at) && at !== 'authorization') continue;
      const { text, remedy } = await refusalOf({ path, body, withoutKey: true, ...sent });

      const isSchemeless = reads.includes(at);
      expect(text.toLowerCase()).toContain(`no api key was found: `);
      expect(text.toLowerCase()).toContain(`\`${at.toLowerCase()}`);
      expect(text).toContain(isSchemeless ? 'is not of the form' : 'is not read here');
      expect(text).toContain(
        path.startsWith('/v1beta') ? '`x-goog-api-key: <key>`' : 'Bearer <key>',
      );
      expect(text + remedy).not.toContain(callerSecret);
      const isQueryOfGoogle = path.startsWith('/v1beta') && at.startsWith('key`');
      expect(remedy.includes('`allowQueryKey: true`')).toBe(isQueryOfGoogle);
    }
  });
});

describe('a body that is not JSON', () => {
  const strings = fc.string({ unit: 'grapheme', maxLength: 8 });
  const values = fc.oneof(strings, fc.integer(), fc.boolean(), fc.constant(null));

  it('with a comma too many says so, wherever it is', async () => {
    const objects = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), values, { minKeys: 1 });
    await fc.assert(
      fc.asyncProperty(objects, fc.array(values, { minLength: 1 }), async (object, list) => {
        const inObject = JSON.stringify(object).replace(/\}$/, ' ,\n}');
        const inList = `{"list":${JSON.stringify(list).replace(/\]$/, ',]')}}`;
        for (const body of [inObject, inList]) {
          const { text } = await refusalOf({ path: '/v1/chat/completions', body });

          expect(text).toMatch(/at byte \d+: `[\]}]` follows a comma\. Remove that comma\.$/);
        }
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    ['', 'The request body is empty. Send one JSON object (RFC 8259).'],
    [' \n', 'The request body is empty. Send one JSON object (RFC 8259).'],
    ['{"model":"chat"', 'it ends too early, at byte 15.'],
    ["{'model':'chat'}", "at byte 1: `'` is there. JSON has double quotes."],
    ['{"model":chat}', 'at byte 9: `c` is there. Send one JSON object'],
    ['{“model”:1}', 'at byte 1: a character that is not ASCII is there.'],
    ['{"model":`chat`}', 'at byte 9: the byte 0x60 is there.'],
    ['{"model":"a\nb"}', 'at byte 11: the byte 0x0a is there.'],
  ])('%j says what is at that byte', async (body, says) => {
    const { text } = await refusalOf({ path: '/v1/chat/completions', body });

    expect(text).toContain(says);
  });

  it.each([
    ['{"model":"a","model":"b"}', 'has `model` twice in one object, at byte 14. Send it once.'],
    ['{"a":[{"x-y.z_1":1,"x-y.z_1":2}]}', 'has `x-y.z_1` twice in one object, at byte 20.'],
    ['{"hello you":1,"hello you":2}', 'names a member twice in one object, at byte 16.'],
    ['{"tg_abcdefgh_abcdefgh":1,"tg_abcdefgh_abcdefgh":2}', 'names a member twice'],
    [`{"${'a'.repeat(65)}":1,"${'a'.repeat(65)}":2}`, 'names a member twice'],
  ])('%s names the member, if its name is plain', async (body, says) => {
    expect((await refusalOf({ path: '/v1/chat/completions', body })).text).toContain(says);
  });
});

describe('a member that the model does not allow', () => {
  const request = (path: string, members: object): CallerRequest => ({
    path,
    body: { model: 'chat', ...members },
  });
  const everyText: Setup = {
    models: [model({ protocols: ['chat', 'responses', 'messages'] })],
  };

  it.each([
    [
      request('/v1/chat/completions', {
        messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }],
      }),
      'Send the content of the file in its place, as `file_data`.',
    ],
    [
      request('/v1/responses', {
        input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }],
      }),
      'in its place, as `file_data`, or as `image_url` if it is an image.',
    ],
    [
      request('/v1/messages', {
        max_tokens: 5,
        messages: [
          {
            role: 'user',
            content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }],
          },
        ],
      }),
      'in its place, as a `source` of the type `base64`.',
    ],
  ])('$path: an id of a file', async (sent, says) => {
    const { text, remedy } = await refusalOf(sent, everyText);

    expect(text).toContain(says);
    expect(remedy).toBe('`allow.file_id` in the record of the model allows it.');
  });

  it('is a tool, which is to be left out as a whole', async () => {
    const tools = [{ type: 'web_search' }];
    const { text, remedy } = await refusalOf(chat({ tools }));

    expect(text).toContain('Leave `tools[0]` out.');
    expect(remedy).toContain('`price.members.web_search` in the record of the model allows it');
  });

  /** One member of each row that has a plain place, and the record that the remedy asks for. */
  const plain = guardedRows.flatMap(({ row, class: kind, places = [] }) => {
    const [place] = places.filter((one) => /^[a-z_]+$/.test(one));
    return place === undefined ? [] : [{ row, kind, place }];
  });

  const values: ReadonlyMap<string, unknown> = new Map<string, unknown>([
    ['output_format', 'gif'],
    ['best_of', 2],
    ['num_images', 2],
    ['frame_count', 2],
    ['thinking_budget', 2_000],
  ]);

  it.each(plain)('$place is allowed by the remedy for the host', async ({ row, kind, place }) => {
    const members = chat({ [place]: values.get(place) ?? 'x' });
    const refused = await refusalOf(members);
    // Some are members of images alone.
    if (!refused.text.includes(`\`${place}\``)) return;
    const [usual = model()] = defaultModels();
    const allowed: Model =
      kind === 'cost'
        ? model({ price: { ...Object(usual.price), members: { [row]: {} } } })
        : model({ allow: { [row]: true } });
    const after = await refusalOf(members, {
      models: [allowed],
      handlers: [(up) => up.answer(400, '{}', {})],
    });

    expect(refused.remedy).toContain(kind === 'cost' ? `price.members.${row}` : `allow.${row}`);
    expect(after.text).not.toContain(`\`${place}\``);
  });

  it('has a remedy in most rows', () => {
    expect(plain.length).toBeGreaterThan(15);
  });
});

describe('the path of a call after a base URL that has one', () => {
  const { find, owns } = routesOf(protocols);
  const calls = Object.values(protocols).flatMap(({ paths }) => Object.keys(paths));
  const pair = fc.tuple(fc.constantFrom(...calls), fc.constantFrom(...calls), fc.boolean());

  it('is answered with the right one, and owned wherever the gateway is mounted', () => {
    fc.assert(
      fc.property(pair, fc.constantFrom('', '/llm', '/a/b'), ([before, after, full], prefix) => {
        const path = before + (full ? after : after.replace('/v1', ''));
        if (calls.includes(path)) return;
        const target = `${prefix}${path}?a=b`;
        const route = find(
          { method: 'POST', path, search: '', headers: {}, target },
          routeSettings,
        );

        expect(owns(path, routeSettings, 'POST')).toBe(true);
        const message = route.kind === 'refused' ? route.error.message : '';
        expect(message).toContain(`Did you mean ${prefix}${after}? `);
        expect(message).toContain(`Set the client's base URL to end in ${prefix}/v1.`);
      }),
    );
  });

  it.each([
    '/tg_abcdefgh_abcdefgh',
    '/a b',
    '/%41',
    `/${'a'.repeat(64)}`,
    '/<b>',
  ])('repeats no prefix that may be the caller’s own text: %s', (prefix) => {
    const path = '/chat/completions';
    const target = prefix + path;
    const route = find({ method: 'POST', path, search: '', headers: {}, target }, routeSettings);

    expect(route.kind === 'refused' && route.error.message).toContain('mean /v1/chat/completions?');
  });
});
