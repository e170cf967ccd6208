/** Reasoning in the history, and the signatures that go back to the provider that made them. */
import { seal } from '../../../src/canonical/envelope.ts';
import {
  callEnvelope,
  reasoningEnvelope,
  textEnvelope,
  unsignedEnvelope,
} from '../../../src/canonical/reasoning-envelopes.ts';
import type { Part } from '../../../src/canonical/request.ts';
import type { JsonObject } from '../../../src/json.ts';
import {
  after,
  chatAfter,
  claudeAfter,
  declared,
  fn,
  geminiAfter,
  item,
  output,
  placeholder,
  ran,
  responsesAfter,
  run,
  toolSaid,
  tools,
  use,
  used,
} from './history.ts';
import { assistant, call, result, signedBy, text, thought, user } from './parts.ts';
import { type Form, type RequestRow, reads, writes } from './request-rows.ts';

const anthropic = signedBy('anthropic', 'c2ln');
const google = signedBy('gemini', 'c2ln');
const hidden = signedBy('anthropic', 'aGlk', 'encrypted');
const said = (...parts: readonly Part[]) => after(assistant(...parts, text('B')), user(text('C')));
const t = (value: string) => ({ type: 'text', text: value });
const chat = (more: JsonObject) =>
  chatAfter({ role: 'assistant', content: 'B', ...more }, { role: 'user', content: 'C' });
const claude = (...blocks: readonly JsonObject[]) =>
  claudeAfter(['assistant', ...blocks, t('B')], ['user', t('C')]);
const gemini = (...parts: readonly JsonObject[]) =>
  geminiAfter(['model', ...parts, { text: 'B' }], ['user', { text: 'C' }]);
const responses = (...items: readonly JsonObject[]) =>
  responsesAfter(
    ...items.map((one): JsonObject => ({ type: 'reasoning', ...one })),
    ...[
      { role: 'assistant', content: 'B' },
      { role: 'user', content: 'C' },
    ],
  );
const thinking = (words: string, signature: string) => ({
  type: 'thinking',
  thinking: words,
  signature,
});
const summary = (...texts: readonly string[]) => ({
  summary: texts.map((one) => ({ type: 'summary_text', text: one })),
});
const content = (one: string) => ({ content: [{ type: 'reasoning_text', text: one }] });
const details = (...reasoning_details: readonly JsonObject[]) => ({ reasoning_details });
const format = 'anthropic-claude-v1';
const both = { signatures: true } as const;
const extra = { extra_content: { google: { thought_signature: 'c2ln' } } };
const called = (more: object) =>
  after(assistant(call('a', 'f', '{}', more)), user(result('a', 'A')));
const nothing = { read: said() };
const shown = { read: said(thought('Hm.', { displayOnly: true })) };
const damaged = (sealed: string) => sealed.slice(0, -4);

/** Forms in which Responses and Messages callers return what an upstream signed. */
const signedForms = {
  responses: [
    ...[summary('Cut'), summary(), {}, { ...summary('a'), content: null }].map((more) =>
      reads(
        responses({
          ...more,
          encrypted_content: reasoningEnvelope('Hm.', anthropic.providerData),
        }),
      ),
    ),
    reads(responses({ ...summary('Hm.'), encrypted_content: seal(anthropic.providerData) })),
  ],
  messages: [
    reads(claude(thinking('Hm.', reasoningEnvelope(undefined, anthropic.providerData)))),
    reads(claude(thinking('', reasoningEnvelope('Hm.', anthropic.providerData)))),
    reads(claude(thinking('Hm.', seal(anthropic.providerData)))),
    reads(claude(thinking('Hm.', Buffer.from('gw1:anthropic:signature:c2ln').toString('base64')))),
  ],
} satisfies Record<string, readonly Form[]>;

/** Reasoning. */
export const reasoningHistory: readonly RequestRow[] = [
  {
    is: 'reasoning that nobody signed',
    request: said(thought('Hm.')),
    chat: [
      reads(chat({ reasoning_content: 'Hm.' })),
      writes(chat({}), undefined, 'at'),
      writes(chat({ reasoning_content: 'Hm.' }), { reasoningHistory: true }),
    ],
    responses: reads(responses(summary('Hm.'))),
    messages: writes(claude(), undefined, 'at'),
    gemini: [reads(gemini({ text: 'Hm.', thought: true })), writes(gemini(), undefined, 'at')],
  },
  {
    is: 'reasoning that was only shown',
    request: said(thought('Hm.', { displayOnly: true })),
    chat: [
      writes(chat({})),
      writes(chat({ reasoning_content: 'Hm.' }), { reasoningHistory: true }),
    ],
    responses: [
      reads(responses({ encrypted_content: unsignedEnvelope('Hm.'), ...content('cut') })),
      reads(responses({ id: 'rs_tg_1', ...summary('short'), ...content('Hm.') })),
      reads(responses({ id: 'rs_tg_1', ...summary('Hm.'), content: null })),
      reads(responses({ id: 'rs_tg_1', ...summary() }), nothing),
      reads(responses({ id: 'rs_1', ...summary() }), { ...nothing, lost: ['input[1]'] }),
      ...['gAAAAABoISQ24OyVRYbk', damaged(unsignedEnvelope('Hm.')), 'Z3cyOnsicCI6'].map((sealed) =>
        reads(responses({ id: 'rs_1', ...summary('Hm.'), encrypted_content: sealed }), {
          ...shown,
          lost: ['input[1].encrypted_content'],
        }),
      ),
    ],
    messages: [
      writes(claude()),
      reads(claude(thinking('Hm.', unsignedEnvelope()))),
      reads(claude(thinking('', unsignedEnvelope('Hm.')))),
      reads(claude(thinking('', unsignedEnvelope())), nothing),
      ...['EqQBCkYIBBgCKkBVbWl0', damaged(unsignedEnvelope('Hm.')), ''].flatMap((signature) =>
        [thinking('Hm.', signature), { type: 'redacted_thinking', data: signature }].map((block) =>
          reads(claude(block), { ...nothing, lost: ['messages.thinking'] }),
        ),
      ),
    ],
    gemini: writes(gemini()),
  },
  {
    is: 'reasoning that Anthropic signed',
    request: said(thought('Hm.', anthropic)),
    chat: [
      reads(
        chat({
          reasoning_content: 'Hm.',
          ...details({ type: 'reasoning.text', text: 'Hm.', signature: 'c2ln', format }),
        }),
      ),
      writes(chat({}), undefined, 'at'),
      writes(
        chat(details({ type: 'reasoning.text', text: 'Hm.', signature: 'c2ln', format })),
        both,
      ),
    ],
    ...signedForms,
    messages: [...signedForms.messages, writes(claude(thinking('Hm.', 'c2ln')))],
    gemini: [
      reads(gemini({ text: 'Hm.', thought: true, thoughtSignature: seal(anthropic.providerData) })),
      writes(gemini(), undefined, 'at'),
    ],
  },
  {
    is: 'reasoning in pieces, the last of which is signed',
    request: said(thought('So '), thought('it is', anthropic)),
    chat: writes(
      chat(details({ type: 'reasoning.text', text: 'So it is', signature: 'c2ln', format })),
      both,
    ),
  },
  {
    is: 'a signature without text',
    request: said(thought('', anthropic)),
    responses: reads(
      responses({
        ...summary('x'),
        encrypted_content: reasoningEnvelope('', anthropic.providerData),
      }),
    ),
    messages: writes(claude(thinking('', 'c2ln'))),
    gemini: reads(
      gemini({ text: '', thought: true, thoughtSignature: seal(anthropic.providerData) }),
    ),
  },
  {
    is: 'encrypted reasoning',
    request: said(thought('', hidden)),
    chat: [
      reads(chat(details({ type: 'reasoning.encrypted', data: 'aGlk', format }))),
      writes(chat(details({ type: 'reasoning.encrypted', data: 'aGlk', format })), both),
    ],
    responses: reads(responses({ encrypted_content: reasoningEnvelope('', hidden.providerData) })),
    messages: [
      reads(
        claude({ type: 'redacted_thinking', data: reasoningEnvelope('', hidden.providerData) }),
      ),
      writes(claude({ type: 'redacted_thinking', data: 'aGlk' })),
    ],
  },
  {
    is: 'plain and encrypted reasoning',
    request: said(thought('Hm.'), thought('', hidden)),
    chat: reads(
      chat({
        reasoning_content: 'Hm.',
        ...details({ type: 'reasoning.encrypted', data: 'aGlk', format }),
      }),
    ),
  },
  {
    is: 'encrypted reasoning that a caller made up',
    request: said(thought('', signedBy('openai', '"}],"model":"x"', 'encrypted'))),
    chat: writes(chat({})),
  },
  {
    is: 'reasoning that Google signed',
    request: said(thought('Hm.', google)),
    chat: writes(chat({}), undefined, 'at'),
    messages: writes(claude(), undefined, 'at'),
    gemini: [
      reads(gemini({ text: 'Hm.', thought: true, thoughtSignature: 'c2ln' })),
      writes(gemini({ text: 'Hm.', thought: true, thoughtSignature: 'c2ln' })),
    ],
  },
  {
    is: 'a text that Google signed',
    request: after(assistant(text('B', google)), user(text('C'))),
    chat: [reads(chat(extra)), writes(chat({}))],
    responses: reads(
      responsesAfter(
        { role: 'assistant', content: 'B' },
        { type: 'reasoning', encrypted_content: textEnvelope(google.providerData) ?? '' },
        { role: 'user', content: 'C' },
      ),
    ),
    messages: [
      reads(
        claudeAfter(
          ['assistant', t('B'), thinking('', textEnvelope(google.providerData) ?? '')],
          ['user', t('C')],
        ),
      ),
      writes(claude()),
    ],
    gemini: [
      reads(
        geminiAfter(['model', { text: 'B', thoughtSignature: 'c2ln' }], ['user', { text: 'C' }]),
      ),
      writes(
        geminiAfter(['model', { text: 'B', thoughtSignature: 'c2ln' }], ['user', { text: 'C' }]),
      ),
    ],
  },
  {
    is: 'a text that another provider signed',
    request: after(assistant(text('B', anthropic)), user(text('C'))),
    gemini: writes(gemini()),
  },
  {
    is: 'a signature of Google alone',
    request: after(assistant(text('', google)), user(text('C'))),
    gemini: reads(geminiAfter(['model', { thoughtSignature: 'c2ln' }], ['user', { text: 'C' }])),
  },
  {
    is: 'a call that Google signed',
    request: called(google),
    chat: [
      reads(chatAfter(tools(null, fn('a', 'f', '{}', extra)), toolSaid('a', 'A'))),
      reads(chatAfter({ ...tools(null, fn('a', 'f')), ...extra }, toolSaid('a', 'A'))),
      reads(
        chatAfter(
          tools(null, {
            ...{ id: 'a', type: 'function' },
            function: { name: 'f', arguments: '{}', thought_signature: 'c2ln' },
          }),
          toolSaid('a', 'A'),
        ),
      ),
      reads(chatAfter(tools(null, fn('a__thought__c2ln', 'f')), toolSaid('a__thought__c2ln', 'A'))),
      writes(chatAfter(tools(null, fn('a', 'f')), toolSaid('a', 'A'))),
      writes(chatAfter(tools(null, fn('a', 'f', '{}', extra)), toolSaid('a', 'A')), both),
    ],
    responses: reads(
      responsesAfter(
        {
          type: 'reasoning',
          encrypted_content:
            callEnvelope({
              ...{ type: 'tool_begin', choice: 0, call: 0, id: 'a', name: 'f', arguments: '' },
              ...google,
            }) ?? '',
        },
        ...[item('a', 'f'), output('a', 'A')],
      ),
    ),
    messages: [
      reads(
        claudeAfter(
          [
            'assistant',
            thinking(
              '',
              callEnvelope({
                ...{ type: 'tool_begin', choice: 0, call: 0, id: 'a', name: 'f', arguments: '' },
                ...google,
              }) ?? '',
            ),
            use('a', 'f'),
          ],
          ['user', used('a', t('A'))],
        ),
      ),
      writes({
        ...claudeAfter(['assistant', use('a', 'f')], ['user', used('a', t('A'))]),
        ...declared('f'),
      }),
    ],
    gemini: [
      reads(
        geminiAfter(['model', run('a', 'f', {}, 'c2ln')], ['user', ran('a', 'f', { output: 'A' })]),
      ),
      writes(
        geminiAfter(['model', run('a', 'f', {}, 'c2ln')], ['user', ran('a', 'f', { output: 'A' })]),
      ),
    ],
  },
  {
    is: 'two steps of calls, the first of which Google signed',
    request: after(
      assistant(call('a', 'f', '{}', google), call('b', 'f')),
      user(result('a', 'A'), result('b', 'B')),
      assistant(call('c', 'f'), call('d', 'f')),
      user(result('c', 'C'), result('d', 'D')),
    ),
    gemini: [undefined, 'gemini-2.5-flash'].map((model) =>
      writes(
        geminiAfter(
          ['model', run('a', 'f', {}, 'c2ln'), run('b', 'f')],
          ['user', ran('a', 'f', { output: 'A' }), ran('b', 'f', { output: 'B' })],
          [
            'model',
            run('c', 'f', {}, model === undefined ? placeholder : undefined),
            run('d', 'f'),
          ],
          ['user', ran('c', 'f', { output: 'C' }), ran('d', 'f', { output: 'D' })],
        ),
        model,
      ),
    ),
  },
];
