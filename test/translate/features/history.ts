/** System texts, earlier turns, calls and their results, reasoning and its signatures. */
import type { Turn } from '../../../src/canonical/request.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import {
  assistant,
  bytes,
  call,
  remote,
  result,
  signedBy,
  system,
  text,
  thought,
  user,
} from './parts.ts';
import { both, invalid, type RequestRow, reads, refusesIt, writes } from './request-rows.ts';

const after = (...turns: readonly Turn[]) => ({ turns: [user(text('Hi')), ...turns] });
const t = (value: string) => ({ type: 'text', text: value });
/** The messages of a conversation that begins with the question. */
const chat = (...messages: readonly JsonObject[]): JsonObject => ({
  messages: [{ role: 'user', content: 'Hi' }, ...messages],
});
const responses = (...input: readonly JsonObject[]): JsonObject => ({
  input: [{ role: 'user', content: 'Hi' }, ...input],
});
/** Messages of the roles u, a and s with these blocks. */
type Said = readonly [role: 'user' | 'assistant' | 'system', ...blocks: readonly JsonObject[]];
const claude = (...messages: readonly Said[]): JsonObject => ({
  messages: [
    { role: 'user', content: [t('Hi')] },
    ...messages.map(([role, ...content]) => ({ role, content })),
  ],
});
type Content = readonly [role: 'user' | 'model', ...parts: readonly JsonObject[]];
const contents = (...all: readonly Content[]): JsonValue =>
  all.map(([role, ...parts]) => ({ role, parts }));
const gemini = (...all: readonly Content[]): JsonObject => ({
  contents: contents(['user', { text: 'Hi' }], ...all),
});

const fn = (id: string, name: string, json = '{}', more: JsonObject = {}): JsonObject => ({
  ...{ id, type: 'function', function: { name, arguments: json } },
  ...more,
});
const tools = (content: string | null, ...tool_calls: readonly JsonObject[]): JsonObject => ({
  role: 'assistant',
  content,
  tool_calls,
});
const toolSaid = (tool_call_id: string, content: JsonValue): JsonObject => ({
  role: 'tool',
  tool_call_id,
  content,
});
const item = (call_id: string, name: string, json = '{}'): JsonObject => ({
  ...{ type: 'function_call', call_id, name, arguments: json },
});
const output = (call_id: string, said: JsonValue): JsonObject => ({
  ...{ type: 'function_call_output', call_id, output: said },
});
const use = (id: string, name: string, input: JsonObject = {}): JsonObject => ({
  ...{ type: 'tool_use', id, name, input },
});
const used = (tool_use_id: string, ...content: readonly JsonObject[]): JsonObject => ({
  ...{ type: 'tool_result', tool_use_id, content },
});
/** The declarations that Anthropic needs for calls in the history. */
const declared = (...names: readonly string[]): JsonObject => ({
  tools: names.map((name) => ({ name, input_schema: { type: 'object', properties: {} } })),
  tool_choice: { type: 'none' },
});
const digits = '{"n": 12345678901234567890,"s":"é"}';
const placeholder = Buffer.from('context_engineering_is_the_way_to_go').toString('base64');
const run = (id: string, name: string, args: JsonObject = {}, sign?: string): JsonObject => ({
  functionCall: { id, name, args },
  ...(sign === undefined ? {} : { thoughtSignature: sign }),
});
const ran = (id: string, name: string, response: JsonObject): JsonObject => ({
  functionResponse: { id, name, response },
});
const one = { turns: [user(text('Hi')), assistant(call('a', 'f')), user(result('a', 'A'))] };
const sealed = signedBy('anthropic', 'c2ln');
const google = signedBy('gemini', 'c2ln');
const png = 'data:image/png;base64,iVBORw0KGgo=';
const data = 'iVBORw0KGgo=';
const claudePng = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
const geminiPng = { inlineData: { mimeType: 'image/png', data } };

/** Texts of the system. */
export const systemTexts: readonly RequestRow[] = [
  {
    is: 'a system text',
    request: { system: [text('A')] },
    chat: [
      both({
        messages: [
          { role: 'system', content: 'A' },
          { role: 'user', content: 'Hi' },
        ],
      }),
      reads({
        messages: [
          { role: 'developer', content: 'A' },
          { role: 'user', content: 'Hi' },
        ],
      }),
      writes(
        { messages: [{ role: 'user', content: [t('A'), t('Hi')] }] },
        { systemInstruction: false },
      ),
    ],
    responses: [
      reads({ instructions: 'A' }),
      reads({
        input: [
          { role: 'system', content: 'A' },
          { role: 'user', content: 'Hi' },
        ],
      }),
    ],
    messages: [
      both({ system: [t('A')] }),
      reads({ system: 'A' }),
      reads({
        messages: [
          { role: 'system', content: 'A' },
          { role: 'user', content: 'Hi' },
        ],
      }),
      reads({ system: [t('A'), t('')] }),
      ...[0, 1].map((at) => {
        const lines = [t('A')];
        lines.splice(at, 0, t('x-anthropic-billing-header: cc_version=2; cch=1'));
        return reads({ system: lines }, { lost: [`system[${at}]`] });
      }),
    ],
    gemini: [
      both({ systemInstruction: { parts: [{ text: 'A' }] } }),
      reads({ systemInstruction: { role: 'user', parts: [{ text: 'A' }] } }),
      reads({ systemInstruction: [{ text: 'A' }] }),
      reads({ systemInstruction: { text: 'A' } }),
      reads({ systemInstruction: 'A' }),
      writes({ contents: contents(['user', { text: 'A' }, { text: 'Hi' }]) }, 'gemma-3-27b-it'),
      invalid(
        { systemInstruction: { parts: [geminiPng] } },
        'systemInstruction.parts[0]',
        'not_portable',
      ),
    ],
  },
  {
    is: 'several system texts',
    request: { system: [text('A'), text('B'), text('C')] },
    chat: [
      both({
        messages: [
          { role: 'system', content: [t('A'), t('B'), t('C')] },
          { role: 'user', content: 'Hi' },
        ],
      }),
      reads({
        messages: [
          { role: 'system', content: 'A' },
          { role: 'developer', content: [t('B'), t('C')] },
          { role: 'user', content: 'Hi' },
        ],
      }),
    ],
    responses: reads({
      instructions: 'A',
      input: [
        { role: 'developer', content: 'B' },
        { type: 'additional_tools', role: 'developer', tools: [] },
        { role: 'system', content: [{ type: 'input_text', text: 'C' }] },
        { role: 'user', content: 'Hi' },
      ],
    }),
    messages: [
      both({ system: [t('A'), t('B'), t('C')] }),
      reads({
        system: [t('A'), t('B')],
        messages: [
          { role: 'system', content: 'C' },
          { role: 'user', content: 'Hi' },
        ],
      }),
    ],
    gemini: both({ systemInstruction: { parts: [{ text: 'A' }, { text: 'B' }, { text: 'C' }] } }),
  },
  {
    is: 'a system text with a cache mark',
    request: { system: [text('A', { cacheControl: { type: 'ephemeral' } })] },
    messages: [
      writes({ system: [{ ...t('A'), cache_control: { type: 'ephemeral' } }] }),
      reads(
        { system: [{ ...t('A'), cache_control: { type: 'ephemeral' } }] },
        { lost: ['cache_control'], read: { system: [text('A')] } },
      ),
    ],
    gemini: writes(
      { systemInstruction: { parts: [{ text: 'A' }] } },
      undefined,
      'at.cache_control',
    ),
  },
  {
    is: 'system texts alone, the last of which is then the question',
    request: { system: [text('A'), text('B')], turns: [] },
    chat: [
      reads(
        {
          messages: [
            { role: 'system', content: 'A' },
            { role: 'system', content: 'B' },
          ],
        },
        { read: { system: [text('A')], turns: [user(text('B'))] } },
      ),
      writes({ messages: [{ role: 'system', content: [t('A'), t('B')] }] }),
    ],
    responses: reads(
      { instructions: 'A', input: [{ role: 'system', content: 'B' }] },
      { read: { system: [text('A')], turns: [user(text('B'))] } },
    ),
    messages: writes(
      { system: [t('A')], messages: [{ role: 'user', content: [t('B')] }] },
      ...([undefined, 'messages'] as const),
    ),
    gemini: writes({
      systemInstruction: { parts: [{ text: 'A' }] },
      contents: contents(['user', { text: 'B' }]),
    }),
  },
  {
    is: 'a system text in the middle',
    request: after(system(text('S')), assistant(text('B')), user(text('C'))),
    chat: [
      both(
        chat(
          { role: 'system', content: 'S' },
          { role: 'assistant', content: 'B' },
          { role: 'user', content: 'C' },
        ),
      ),
      writes(
        {
          messages: [
            ...[
              { role: 'system', content: 'S' },
              { role: 'user', content: 'Hi' },
            ],
            ...[
              { role: 'assistant', content: 'B' },
              { role: 'user', content: 'C' },
            ],
          ],
        },
        { midSystem: 'lift' },
      ),
    ],
    responses: reads(
      responses(
        { role: 'developer', content: 'S' },
        { role: 'assistant', content: 'B' },
        { role: 'user', content: 'C' },
      ),
    ),
    messages: [
      both(claude(['system', t('S')], ['assistant', t('B')], ['user', t('C')])),
      writes(
        { ...claude(['assistant', t('B')], ['user', t('C')]), system: [t('S')] },
        'claude-sonnet-4-5',
      ),
      reads(
        {
          messages: [
            { role: 'user', content: 'Hi' },
            { role: 'system', content: 'S', clear_at: 'end', output_config: { effort: 'low' } },
            { role: 'assistant', content: 'B' },
            { role: 'user', content: 'C' },
          ],
        },
        { lost: ['messages.clear_at', 'messages.output_config'] },
      ),
    ],
    gemini: [
      writes({
        ...gemini(['model', { text: 'B' }], ['user', { text: 'C' }]),
        systemInstruction: { parts: [{ text: 'S' }] },
      }),
      writes(gemini(['user', { text: 'S' }], ['model', { text: 'B' }], ['user', { text: 'C' }]), {
        midSystem: 'inline',
      }),
    ],
  },
  {
    is: 'a system text after the model’s turn',
    request: after(assistant(text('B')), system(text('S')), user(text('C'))),
    messages: writes(claude(['assistant', t('B')], ['user', t('C')], ['system', t('S')])),
  },
  {
    is: 'a system text at the end',
    request: after(assistant(text('B')), system(text('S'))),
    messages: ['claude-opus-5', 'claude-sonnet-4-5'].map((model) =>
      writes(claude(['assistant', t('B')], ['user', t('S')]), model, 'messages'),
    ),
  },
];

const blank = after(assistant(text('')), user(text('You?')));

/** Texts of earlier turns. */
export const turns: readonly RequestRow[] = [
  {
    is: 'two texts of the model',
    request: after(assistant(text('c '), text('\nd')), user(text('e'))),
    chat: [
      writes(chat({ role: 'assistant', content: 'c \nd' }, { role: 'user', content: 'e' })),
      writes(
        chat({ role: 'assistant', content: [t('c '), t('\nd')] }, { role: 'user', content: 'e' }),
        { assistantParts: true },
      ),
      reads(
        chat({ role: 'assistant', content: [t('c '), t('\nd')] }, { role: 'user', content: 'e' }),
      ),
    ],
    responses: reads(
      responses(
        {
          ...{ type: 'message', role: 'assistant', id: 'msg_1', status: 'completed' },
          phase: 'commentary',
          content: [
            { type: 'output_text', text: 'c ', annotations: [{}], logprobs: [{}], parsed: {} },
            { type: 'refusal', refusal: '\nd' },
          ],
        },
        { role: 'user', content: 'e' },
      ),
    ),
    messages: both(claude(['assistant', t('c '), t('\nd')], ['user', t('e')])),
    gemini: both(gemini(['model', { text: 'c ' }, { text: '\nd' }], ['user', { text: 'e' }])),
  },
  {
    is: 'a blank turn',
    request: blank,
    chat: writes(chat({ role: 'assistant', content: '' }, { role: 'user', content: 'You?' })),
    messages: writes({ messages: [{ role: 'user', content: [t('Hi'), t('You?')] }] }),
    gemini: writes(gemini(['model', { text: '' }], ['user', { text: 'You?' }])),
  },
  {
    is: 'an empty turn of the user, and one of the model',
    request: { turns: [user(), assistant(), user(text('Go on'))] },
    chat: writes({
      messages: [
        { role: 'user', content: '' },
        { role: 'user', content: 'Go on' },
      ],
    }),
  },
  {
    is: 'a blank question',
    request: { turns: [user(text('  '))] },
    messages: refusesIt('at'),
  },
  {
    is: 'two turns of the user',
    request: after(user(text('B'), text('C'))),
    chat: both(chat({ role: 'user', content: [t('B'), t('C')] })),
    responses: reads(
      responses({
        role: 'user',
        content: [
          { type: 'input_text', text: 'B' },
          { type: 'input_text', text: 'C' },
        ],
      }),
    ),
    messages: [
      writes({ messages: [{ role: 'user', content: [t('Hi'), t('B'), t('C')] }] }),
      reads(claude(['user', t('B'), t('C')])),
    ],
    gemini: [
      reads(gemini(['user', { text: 'B' }, { text: 'C' }])),
      writes({ contents: contents(['user', { text: 'Hi' }, { text: 'B' }, { text: 'C' }]) }),
      reads(gemini(['model'], ['user', { text: 'B' }, { text: 'C' }])),
    ],
  },
  {
    is: 'an empty part beside others',
    request: { turns: [user(text('a'), text(''), text('b'))] },
    gemini: writes({ contents: contents(['user', { text: 'a' }, { text: 'b' }]) }),
  },
  {
    is: 'a turn of the model at the end',
    request: after(assistant(text('So \n'))),
    chat: [
      both(chat({ role: 'assistant', content: 'So \n' })),
      refusesIt('at', { prefill: false }),
    ],
    messages: [refusesIt('at'), writes(claude(['assistant', t('So')]), 'claude-sonnet-4-5', 'at')],
    gemini: [both(gemini(['model', { text: 'So \n' }])), refusesIt('at', { prefill: false })],
  },
  {
    is: 'thinking before a turn of the model at the end',
    request: after(assistant(thought('Hm.', sealed), text('So '))),
    messages: writes(claude(['assistant', t('So')]), 'claude-sonnet-4-5', 'at'),
  },
  {
    is: 'an image of the model',
    request: after(assistant(bytes('image/png', data, google)), user(text('B'))),
    chat: [
      reads(
        chat(
          {
            ...{ role: 'assistant', content: null },
            images: [
              {
                ...{ type: 'image_url', image_url: { url: png }, index: 0 },
                extra_content: { google: { thought_signature: 'c2ln' } },
              },
            ],
          },
          { role: 'user', content: 'B' },
        ),
      ),
      refusesIt('at'),
      writes(
        chat(
          {
            ...{ role: 'assistant', content: '' },
            images: [{ type: 'image_url', image_url: { url: png } }],
          },
          { role: 'user', content: 'B' },
        ),
        { mediaOutput: true },
      ),
    ],
    gemini: both(
      gemini(['model', { ...geminiPng, thoughtSignature: 'c2ln' }], ['user', { text: 'B' }]),
    ),
  },
];

const two = after(
  assistant(text('Both.'), call('a', 'f'), call('b', 'g')),
  user(result('a', 'A'), result('b', 'B', { name: 'g' })),
  user(text('And?')),
);
const chatTwo = [
  tools('Both.', fn('a', 'f'), fn('b', 'g')),
  ...[toolSaid('a', 'A'), toolSaid('b', 'B')],
];
const claudeTwo = [
  ['assistant', t('Both.'), use('a', 'f'), use('b', 'g')],
  ['user', used('a', t('A')), used('b', t('B')), t('And?')],
] as const;
const geminiTwo = (sign: string | undefined) =>
  [
    ['model', { text: 'Both.' }, run('a', 'f', {}, sign), run('b', 'g')],
    ['user', ran('a', 'f', { output: 'A' }), ran('b', 'g', { output: 'B' })],
    ['user', { text: 'And?' }],
  ] as const;
const resultWith = (parts: Parameters<typeof result>[1], more: object = {}) =>
  after(assistant(call('a', 'f')), user(result('a', parts, more)));
const mixed = resultWith([text('See: '), bytes('image/png')]);

/** Calls and their results. */
export const calls: readonly RequestRow[] = [
  {
    is: 'a call and its result',
    request: one,
    chat: [
      both(chat(tools(null, fn('a', 'f')), toolSaid('a', 'A'))),
      reads(chat(tools('', fn('a', 'f')), toolSaid('a', [t('A')]))),
    ],
    responses: [
      reads(responses(item('a', 'f'), output('a', 'A'))),
      reads(responses({ role: 'assistant', content: '' }, item('a', 'f'), output('a', 'A'))),
      reads(
        responses(
          {
            ...{ ...item('a', 'f'), id: 'fc_1', status: 'completed', async: false },
            ...{ caller: { type: 'direct' }, parsed_arguments: { a: 1 } },
          },
          { ...output('a', 'A'), id: 'fco_1', status: 'completed', name: 'f' },
        ),
      ),
      reads(
        responses(
          { type: 'custom_tool_call', call_id: 'a', name: 'f', input: 'say "x"\n' },
          { type: 'custom_tool_call_output', call_id: 'a', output: 'A' },
        ),
        {
          read: after(
            assistant(call('a', 'f', '{"input":"say \\"x\\"\\n"}')),
            user(result('a', 'A')),
          ),
        },
      ),
    ],
    messages: [
      writes({
        ...claude(['assistant', use('a', 'f')], ['user', used('a', t('A'))]),
        ...declared('f'),
      }),
      reads(claude(['assistant', use('a', 'f')], ['user', used('a', t('A'))])),
      reads(
        claude(
          ['assistant', { ...use('a', 'f'), caller: { type: 'direct' } }],
          ['user', { type: 'tool_result', tool_use_id: 'a', content: 'A' }],
        ),
      ),
      reads(
        claude(
          ['assistant', { ...use('a', 'f'), caller: { type: 'code', tool_id: 's' } }],
          ['user', used('a', t('A'))],
        ),
        { lost: ['messages.content.caller.type', 'messages.content.caller.tool_id'] },
      ),
    ],
    gemini: [
      writes(
        gemini(['model', run('a', 'f', {}, placeholder)], ['user', ran('a', 'f', { output: 'A' })]),
      ),
      reads(gemini(['model', run('a', 'f')], ['user', ran('a', 'f', { output: 'A' })])),
      reads({
        contents: [
          { role: 'user', parts: [{ text: 'Hi' }] },
          { role: 'model', parts: [run('a', 'f')] },
          { role: 'function', parts: [ran('a', 'f', { output: 'A' })] },
        ],
      }),
      ...['result', 'content', 'return_value'].map((name) =>
        reads(gemini(['model', run('a', 'f')], ['model', ran('a', 'f', { [name]: 'A' })])),
      ),
      writes(
        gemini(
          ['model', { functionCall: { name: 'f', args: {} }, thoughtSignature: placeholder }],
          ['user', { functionResponse: { name: 'f', response: { output: 'A' } } }],
        ),
        { callIds: false },
      ),
      reads(
        gemini(
          ['model', { functionCall: { name: 'f', args: null } }],
          ['user', { functionResponse: { name: 'f', response: { output: 'A' } } }],
        ),
        {
          read: after(assistant(call('call_t1p0', 'f')), user(result('call_t1p0', 'A'))),
        },
      ),
      writes(
        gemini(['model', run('a', 'f')], ['user', ran('a', 'f', { output: 'A' })]),
        'gemini-2.5-flash',
      ),
    ],
  },
  {
    is: 'two calls with a text, and their results',
    request: two,
    chat: both(chat(...chatTwo, { role: 'user', content: 'And?' })),
    responses: [
      reads(
        responses(
          ...[{ role: 'assistant', content: 'Both.' }, item('a', 'f'), item('b', 'g')],
          ...[output('a', 'A'), output('b', 'B'), { role: 'user', content: 'And?' }],
        ),
      ),
      reads(
        responses(
          ...[{ role: 'assistant', content: 'Both.' }, item('a', 'f'), item('b', 'g')],
          ...[{ role: 'user', content: 'And?' }, output('b', 'B'), output('a', 'A')],
        ),
      ),
    ],
    messages: [
      writes({ ...claude(...claudeTwo), ...declared('f', 'g') }),
      reads(claude(...claudeTwo)),
      reads(
        claude(
          ['assistant', t('Both.'), use('a', 'f')],
          ['assistant', use('b', 'g')],
          ['user', used('b', t('B'))],
          ['user', t('And?'), used('a', t('A'))],
        ),
      ),
    ],
    gemini: [writes(gemini(...geminiTwo(placeholder))), reads(gemini(...geminiTwo(undefined)))],
  },
  {
    is: 'results in another order, among what the user says',
    request: after(
      assistant(call('a', 'f'), call('b', 'g')),
      user(text('Wait'), result('b', 'B', { name: 'g' })),
      user(result('a', [text('A'), text('2')]), text('And?')),
    ),
    chat: writes(
      chat(
        ...[tools(null, fn('a', 'f'), fn('b', 'g')), toolSaid('b', 'B'), toolSaid('a', 'A2')],
        ...[
          { role: 'user', content: 'Wait' },
          { role: 'user', content: 'And?' },
        ],
      ),
    ),
    messages: writes({
      ...claude(
        ['assistant', use('a', 'f'), use('b', 'g')],
        ['user', used('a', t('A'), t('2')), used('b', t('B')), t('Wait'), t('And?')],
      ),
      ...declared('f', 'g'),
    }),
    gemini: writes(
      gemini(
        ['model', run('a', 'f', {}, placeholder), run('b', 'g')],
        ['user', ran('a', 'f', { output: 'A2' }), ran('b', 'g', { output: 'B' })],
        ['user', { text: 'Wait' }, { text: 'And?' }],
      ),
    ),
  },
  {
    is: 'arguments with spaces and a number of 20 digits',
    request: after(assistant(call('a', 'f', digits)), user(result('a', 'A'))),
    chat: both(chat(tools(null, fn('a', 'f', digits)), toolSaid('a', 'A'))),
    responses: reads(responses(item('a', 'f', digits), output('a', 'A'))),
    messages: writes({
      ...claude(['assistant', use('a', 'f', JSON.parse(digits))], ['user', used('a', t('A'))]),
      ...declared('f'),
    }),
    gemini: writes(
      gemini(
        ['model', run('a', 'f', JSON.parse(digits), placeholder)],
        ['user', ran('a', 'f', { output: 'A' })],
      ),
    ),
  },
  {
    is: 'a result without a call',
    request: after(user(result('x', '?', { name: undefined }))),
    chat: reads(chat(toolSaid('x', '?'))),
    responses: reads(responses(output('x', '?')), {
      read: after(user(text('[tool result unknown]: ?'))),
      lost: ['input[1]'],
    }),
    messages: reads(claude(['user', used('x', t('?'))]), {
      read: after(user(text('[tool result unknown]: ?'))),
      lost: ['messages[1].content[0]'],
    }),
  },
  {
    is: 'calls without ids',
    request: after(
      assistant(text('Now.'), call('call_t1p1', 'f'), call('call_t1p2', 'g')),
      user(result('call_t1p1', '1'), result('call_t1p2', '2', { name: 'g' })),
    ),
    chat: reads(
      chat(tools('Now.', fn('', 'f'), fn('', 'g')), toolSaid('', '1'), toolSaid('', '2')),
    ),
  },
  {
    is: 'the older form of a call',
    request: after(assistant(call('call_t1p0', 'f')), user(result('call_t1p0', 'A'))),
    chat: reads(
      chat(
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: 'A' },
      ),
    ),
  },
  {
    is: 'one id on two calls',
    request: after(
      ...[assistant(call('a:1', 'f')), user(result('a:1', 'A'))],
      ...[assistant(call('a:1', 'f')), user(result('a:1', 'B'))],
    ),
    messages: writes({
      ...claude(
        ...[['assistant', use('~^[\\w-]+$', 'f')] as const, ['user', used('~.', t('A'))] as const],
        ...[['assistant', use('~^[\\w-]+$', 'f')] as const, ['user', used('~.', t('B'))] as const],
      ),
      ...declared('f'),
    }),
  },
  {
    is: 'arguments that are no object',
    request: after(assistant(call('a', 'f', '[1')), user(result('a', 'A'))),
    chat: both(chat(tools(null, fn('a', 'f', '[1')), toolSaid('a', 'A'))),
    gemini: writes(
      gemini(
        ['model', run('a', 'f', { _raw: '[1' }, placeholder)],
        ['user', ran('a', 'f', { output: 'A' })],
      ),
      ...([undefined, 'at'] as const),
    ),
  },
  {
    is: 'ids that no upstream accepts',
    request: after(
      assistant(call('a.b', 'f'), call('x'.repeat(65), 'f')),
      user(result('a.b', 'A'), result('x'.repeat(65), 'B')),
    ),
    chat: writes(
      chat(
        tools(null, fn('~^[\\w-]{1,40}$', 'f'), fn('~^[\\w-]{1,40}$', 'f')),
        ...[toolSaid('~^[\\w-]{1,40}$', 'A'), toolSaid('~^[\\w-]{1,40}$', 'B')],
      ),
    ),
    messages: writes({
      ...claude(
        ['assistant', use('~^[\\w-]{1,64}$', 'f'), use('~^[\\w-]{1,64}$', 'f')],
        ['user', used('~^[\\w-]{1,64}$', t('A')), used('~^[\\w-]{1,64}$', t('B'))],
      ),
      ...declared('f'),
    }),
  },
  {
    is: 'a result that failed',
    request: resultWith('No.', { isError: true }),
    chat: writes(chat(tools(null, fn('a', 'f')), toolSaid('a', '{"error":"No."}'))),
    messages: [
      writes({
        ...claude(
          ['assistant', use('a', 'f')],
          ['user', { ...used('a', t('No.')), is_error: true }],
        ),
        ...declared('f'),
      }),
      reads(
        claude(['assistant', use('a', 'f')], ['user', { ...used('a', t('No.')), is_error: true }]),
      ),
    ],
    gemini: [
      writes(
        gemini(
          ['model', run('a', 'f', {}, placeholder)],
          ['user', ran('a', 'f', { error: 'No.' })],
        ),
      ),
      reads(gemini(['model', run('a', 'f')], ['user', ran('a', 'f', { error: 'No.' })])),
    ],
  },
  {
    is: 'an empty result',
    request: resultWith([]),
    messages: [
      ...[[], null].map((content) =>
        reads(
          claude(
            ['assistant', use('a', 'f')],
            ['user', { type: 'tool_result', tool_use_id: 'a', content }],
          ),
        ),
      ),
      reads(
        claude(['assistant', use('a', 'f')], ['user', { type: 'tool_result', tool_use_id: 'a' }]),
      ),
      reads(
        claude(
          ['assistant', use('a', 'f')],
          ['user', used('a', { type: 'tool_reference', tool_name: 'find' })],
        ),
        {
          read: resultWith('Tool find is available.\n'),
          lost: ['messages[2].content[0].content[0]'],
        },
      ),
    ],
  },
  {
    is: 'a text and an image in a result',
    request: mixed,
    chat: [
      writes(
        chat(...[tools(null, fn('a', 'f')), toolSaid('a', 'See: [see attached image]')], {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: png } }],
        }),
      ),
      writes(
        chat(
          tools(null, fn('a', 'f')),
          toolSaid('a', [t('See: '), { type: 'image_url', image_url: { url: png } }]),
        ),
        { resultMedia: true },
      ),
    ],
    responses: reads(
      responses(
        item('a', 'f'),
        output('a', [
          { type: 'input_text', text: 'See: ' },
          { type: 'input_image', image_url: png },
        ]),
      ),
    ),
    messages: [
      reads(claude(['assistant', use('a', 'f')], ['user', used('a', t('See: '), claudePng)])),
      writes({
        ...claude(['assistant', use('a', 'f')], ['user', used('a', t('See: '), claudePng)]),
        ...declared('f'),
      }),
    ],
  },
  {
    is: 'an image in a result',
    request: resultWith([bytes('image/png')]),
    gemini: [
      writes(
        gemini(
          ['model', run('a', 'f', {}, placeholder)],
          [
            'user',
            {
              functionResponse: {
                ...{ id: 'a', name: 'f', response: { output: '[see attached media]' } },
                parts: [geminiPng],
              },
            },
          ],
        ),
      ),
      writes(
        gemini(
          ['model', run('a', 'f')],
          ['user', ran('a', 'f', { output: '[see attached media]' }), geminiPng],
        ),
        'gemini-2.5-flash',
      ),
    ],
  },
  {
    is: 'a document in a result',
    request: resultWith([remote('https://a.test/a.pdf', 'application/pdf')]),
    responses: reads(
      responses(
        item('a', 'f'),
        output('a', [{ type: 'input_file', file_url: 'https://a.test/a.pdf' }]),
      ),
    ),
  },
  ...(
    [
      ['an empty text', '', { output: '' }, undefined],
      ['an array', '[1, 2]', { output: [1, 2] }, undefined],
      ['a number', '17', { output: 17 }, undefined],
      ['quoted text', '"a"', { output: '"a"' }, undefined],
      ['an object', '{"a":1}', { a: 1 }, '{"a":1}'],
      ['a number in an output', '{"output":1}', undefined, '{"output":1}'],
      ['an output with more', '{"output":"a","more":1}', undefined, undefined],
      ['a constructor', '{"constructor":"a"}', { constructor: 'a' }, undefined],
      ['an error with an output', '{"error":"no","output":"a"}', undefined, undefined],
      ['nothing', '{}', {}, undefined],
    ] as const
  ).map(([name, said, response]): RequestRow => {
    const read = said.startsWith('{') ? (JSON.parse(said) as JsonObject) : undefined;
    const back = (value: JsonObject) =>
      gemini(['model', run('a', 'f')], ['user', ran('a', 'f', value)]);
    return {
      is: `a result that is ${name}`,
      request: resultWith(said),
      gemini: [
        ...(read === undefined ? [] : [reads(back(read))]),
        ...(response === undefined ? [] : [writes(back({ ...response }), 'gemini-2.5-flash')]),
      ],
    };
  }),
  {
    is: 'an error that is an object',
    request: resultWith('{"code":5}', { isError: true }),
    gemini: reads(
      gemini(['model', run('a', 'f')], ['user', ran('a', 'f', { error: { code: 5 } })]),
    ),
  },
  {
    is: 'a call of the user',
    request: { turns: [user(call('a', 'f'))] },
    chat: refusesIt('at'),
  },
  {
    is: 'a result of the model',
    request: { turns: [assistant(result('a', 'A'))] },
    chat: refusesIt('at'),
  },
];
export {
  after,
  chat as chatAfter,
  claude as claudeAfter,
  declared,
  fn,
  gemini as geminiAfter,
  item,
  output,
  placeholder,
  ran,
  responses as responsesAfter,
  run,
  toolSaid,
  tools,
  use,
  used,
};
