/** How much a model should reason, per model, and whether it is shown. */
import type { Part } from '../../../src/canonical/request.ts';
import type { ReasoningEffort } from '../../../src/ports/catalog.ts';
import { assistant, call, result, signedBy, text, thought, tool, user } from './parts.ts';
import { type Form, loses, type RequestRow, reads, writes } from './request-rows.ts';
import type { To } from './wires.ts';

const reasoning = (
  effort?: ReasoningEffort,
  budgetTokens?: number,
  includeThoughts?: boolean,
  budgetAt?: string,
) => ({ reasoning: { effort, budgetTokens, includeThoughts, ...(budgetAt && { budgetAt }) } });
const lost = 'reasoning_effort';
const opus = 'claude-opus-5';
const sonnet = 'claude-sonnet-4-5';
const haiku = 'claude-3-haiku';

/** What a chat upstream with these efforts gets; `~` before it: another one, which is listed. */
const chat = (expected: string | undefined, ...efforts: readonly ReasoningEffort[]): Form => {
  const to: To = { reasoning: 'effort', efforts };
  const effort = expected?.replace('~', '');
  const members = effort === undefined ? {} : { reasoning_effort: effort };
  return writes(members, to, ...(expected?.startsWith('~') ? [lost] : []));
};
const gemini = (model: string, expected: object, ...listed: readonly string[]): Form =>
  writes({ generationConfig: { thinkingConfig: { ...expected } } }, model, ...listed);
const claude = (model: string, thinking: object, effort?: string, ...listed: string[]): Form =>
  writes(
    { thinking: { ...thinking }, ...(effort && { output_config: { effort } }) },
    model,
    ...listed,
  );
const adaptive = { type: 'adaptive', display: 'summarized' };
const enabled = (budget_tokens: number) => ({ type: 'enabled', budget_tokens });
const all = ['none', 'minimal', 'low', 'medium', 'high'] as const;

/** The levels and budgets of Gemini's models for the efforts from none to max. */
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
const levels: readonly (readonly [string, readonly (string | number)[], number])[] = [
  // The last number has a bit for each effort that is listed as dropped.
  ['gemini-3-flash', ['MINIMAL', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'HIGH', 'HIGH'], 0b1100001],
  ['gemini-3.1-pro', ['LOW', 'LOW', 'LOW', 'MEDIUM', 'HIGH', 'HIGH', 'HIGH'], 0b1100011],
  ['gemini-3-pro-preview', ['LOW', 'LOW', 'LOW', 'HIGH', 'HIGH', 'HIGH', 'HIGH'], 0b1101011],
  ['gemini-2.5-flash', [0, 512, 1_024, 8_192, 24_576, 24_576, 24_576], 0],
  ['gemini-2.5-flash-lite', [0, 512, 1_024, 8_192, 24_576, 24_576, 24_576], 0],
  ['gemini-2.5-pro', [128, 128, 1_024, 8_192, 24_576, 32_768, 32_768], 1],
];
const ofGemini = efforts.map(
  (effort, index): RequestRow => ({
    is: `the effort ${effort} of each model of Google`,
    request: reasoning(effort),
    gemini: levels.map(([model, values, listed]) => {
      const value = values[index];
      const name = typeof value === 'number' ? 'thinkingBudget' : 'thinkingLevel';
      const config = { [name]: value, includeThoughts: index > 0 };
      return gemini(model, config, ...((listed >> index) & 1 ? [lost] : []));
    }),
  }),
);

const loop = (...first: readonly Part[]) => ({
  ...reasoning('low'),
  tools: [tool('f')],
  turns: [
    user(text('Hi')),
    assistant(...first, call('a', 'f')),
    user(result('a', 'A')),
    assistant(call('b', 'f')),
    user(result('b', 'B')),
  ],
});
const uses = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
const answers = (id: string, output: string) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: output }] }],
});
const looped = (...first: readonly object[]) => ({
  tools: [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    { role: 'assistant', content: [...first, uses('a')] },
    answers('a', 'A'),
    { role: 'assistant', content: [uses('b')] },
    answers('b', 'B'),
  ] as never,
});

/** Efforts, budgets and summaries. */
export const reasoningSettings: readonly RequestRow[] = [
  ...ofGemini,
  {
    is: 'the effort high',
    request: reasoning('high'),
    chat: [
      reads({ reasoning_effort: 'high' }, { read: reasoning('high', undefined, true) }),
      chat('high', ...all),
      loses([lost]),
    ],
    responses: [
      reads({ reasoning: { effort: 'high' } }, { read: reasoning('high', undefined, false) }),
      reads(
        { reasoning: { effort: 'high', summary: 'auto' } },
        { read: reasoning('high', undefined, true) },
      ),
    ],
    messages: [
      reads(
        { output_config: { effort: 'high' } },
        { read: reasoning('high', undefined, false), names: { reasoning: 'output_config.effort' } },
      ),
      claude(opus, adaptive, 'high'),
      loses([lost], haiku),
    ],
    gemini: [
      reads({ generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } }),
      reads({ generationConfig: { thinkingConfig: { thinkingLevel: 'thinking_level_high' } } }),
      loses([lost], 'gemini-2.0-flash'),
    ],
  },
  {
    is: 'the effort none',
    request: reasoning('none'),
    chat: [
      reads({ reasoning_effort: 'none' }, { read: reasoning('none', undefined, false) }),
      chat('~low', 'low', 'high'),
    ],
    responses: reads(
      { reasoning: { effort: 'none' } },
      { read: reasoning('none', undefined, false) },
    ),
    messages: [
      reads({ thinking: { type: 'disabled' } }, { read: reasoning('none', undefined, false) }),
      reads(
        { thinking: { type: 'disabled' }, output_config: { effort: 'low' } },
        { read: reasoning('none', undefined, false), lost: ['output_config.effort'] },
      ),
      claude(opus, { type: 'disabled' }),
      claude(sonnet, { type: 'disabled' }),
      loses([], haiku),
    ],
    gemini: loses([], 'gemini-2.0-flash'),
  },
  {
    is: 'the effort minimal',
    request: reasoning('minimal'),
    chat: chat('~low', 'none', 'low', 'medium'),
    messages: [claude(opus, adaptive, 'low', lost), claude(sonnet, enabled(1_024))],
  },
  {
    is: 'the effort low',
    request: reasoning('low'),
    chat: chat('~high', 'high', 'max'),
    messages: claude(sonnet, enabled(2_048)),
  },
  {
    is: 'the effort medium',
    request: reasoning('medium'),
    chat: chat('~high', 'low', 'high'),
    messages: claude(sonnet, enabled(8_191), undefined, lost),
  },
  {
    is: 'the effort xhigh',
    request: reasoning('xhigh'),
    messages: [claude(opus, adaptive, 'xhigh'), claude('claude-opus-4-6', adaptive, 'high', lost)],
  },
  {
    is: 'the effort max',
    request: reasoning('max', undefined, false),
    chat: chat('~high', ...all),
    messages: reads(
      { output_config: { effort: 'max' } },
      { names: { reasoning: 'output_config.effort' } },
    ),
  },
  ...(
    [
      [0, 'none', { type: 'disabled' }, undefined, 128],
      [1_024, 'low', { type: 'adaptive' }, 'low', 1_024],
      [1_999, 'medium', { type: 'adaptive' }, 'low', 1_999],
      [7_999, 'medium', { type: 'adaptive' }, 'medium', 7_999],
      [8_192, 'medium', { type: 'adaptive' }, 'high', 8_192],
      [8_193, 'high', { type: 'adaptive' }, 'high', 8_193],
      [23_999, 'high', { type: 'adaptive' }, 'high', 23_999],
      [24_000, 'high', { type: 'adaptive' }, 'xhigh', 24_000],
      [50_000, 'high', { type: 'adaptive' }, 'xhigh', 32_768],
      [-1, undefined, { type: 'adaptive' }, undefined, -1],
    ] as const
  ).map(
    ([budget, effort, thinking, level, ofPro]): RequestRow => ({
      is: `a budget of ${budget}`,
      request: reasoning(undefined, budget),
      chat: chat(effort, ...all),
      messages: claude(opus, thinking, level),
      gemini: gemini(
        'gemini-2.5-pro',
        { thinkingBudget: ofPro, includeThoughts: budget !== 0 },
        ...(ofPro === budget ? [] : [lost]),
      ),
    }),
  ),
  {
    is: 'a budget that is too small',
    request: reasoning(undefined, 5),
    messages: claude(sonnet, enabled(1_024), undefined, lost),
  },
  {
    is: 'any budget',
    request: reasoning(undefined, -1),
    messages: writes({}, sonnet),
    gemini: reads({ generationConfig: { thinkingConfig: { thinkingBudget: -1 } } }),
  },
  {
    is: 'a budget that is shown',
    request: reasoning(undefined, 8, true),
    messages: [
      reads({ thinking: { type: 'enabled', budget_tokens: 8 } }),
      reads(
        {
          thinking: {
            ...{ type: 'enabled', budget_tokens: 8 },
            block_binding: { prefix_mismatch_behavior: 'error' },
          },
        },
        { lost: ['thinking.block_binding'] },
      ),
    ],
    gemini: reads({
      generationConfig: { thinkingConfig: { thinkingBudget: 8, includeThoughts: true } },
    }),
  },
  {
    is: 'a budget that is hidden',
    request: reasoning(undefined, 8, false),
    messages: reads({ thinking: { type: 'enabled', budget_tokens: 8, display: 'omitted' } }),
  },
  {
    is: 'a budget beside an effort',
    request: reasoning('low', 2_000, true, 'b'),
    chat: [writes({ reasoning_effort: 'low' }, 'gpt-5.4', 'b'), loses([lost, 'b'], 'gpt-4.1')],
    messages: reads(
      { thinking: { type: 'enabled', budget_tokens: 2_000 }, output_config: { effort: 'low' } },
      { names: { reasoning: 'output_config.effort' } },
    ),
    gemini: [
      gemini('gemini-3-pro-preview', { thinkingLevel: 'LOW', includeThoughts: true }, 'b'),
      gemini('gemini-2.5-flash', { thinkingBudget: 2_000, includeThoughts: true }, lost),
    ],
  },
  {
    is: 'adaptive thinking with an effort',
    request: reasoning('xhigh', undefined, false),
    messages: reads(
      { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
      { names: { reasoning: 'output_config.effort' } },
    ),
  },
  {
    is: 'reasoning that is shown',
    request: reasoning(undefined, undefined, true),
    chat: chat(undefined, ...all),
    responses: [
      ...['auto', 'concise', 'detailed'].map((summary) =>
        reads({ reasoning: { summary } }, { names: { reasoning: 'reasoning.summary' } }),
      ),
      reads(
        { reasoning: { generate_summary: 'auto' } },
        { names: { reasoning: 'reasoning.summary' } },
      ),
    ],
    messages: reads({ thinking: { type: 'adaptive', display: 'summarized' } }),
  },
  {
    is: 'reasoning that is hidden',
    request: reasoning(undefined, undefined, false),
    messages: [
      reads({ thinking: { type: 'adaptive' } }),
      reads({ thinking: { type: 'adaptive', display: 'updates' } }, { lost: ['thinking.display'] }),
    ],
  },
  {
    is: 'thinking between tools',
    request: {},
    messages: reads({ thinking: { type: 'between_tools' } }, { lost: ['thinking'] }),
  },
  {
    is: 'an effort that is shown',
    request: reasoning('low', undefined, true),
    messages: claude(opus, adaptive, 'low'),
  },
  {
    is: 'an effort that is hidden',
    request: reasoning('high', undefined, false),
    messages: claude(opus, { type: 'adaptive', display: 'omitted' }, 'high'),
    gemini: gemini('gemini-3-flash', { thinkingLevel: 'HIGH', includeThoughts: false }),
  },
  {
    is: 'a limit that leaves no room for a budget',
    request: { ...reasoning('high'), maxOutputTokens: 1_024 },
    messages: writes({ max_tokens: 1_024 }, sonnet, lost),
  },
  {
    is: 'an effort and sampling',
    request: { ...reasoning('low'), temperature: 1.5, topP: 0.5, topK: 5 },
    messages: writes(
      { thinking: enabled(2_048), temperature: 1 },
      sonnet,
      ...['temperature', 'top_p', 'top_k', 'temperature'].slice(0, 3),
    ),
  },
  {
    is: 'an effort and a required call',
    request: {
      ...reasoning('low'),
      tools: [tool('f')],
      toolChoice: { mode: 'required', names: [] },
    },
    messages: [
      writes(
        {
          tools: [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
          tool_choice: { type: 'any' },
        },
        sonnet,
        lost,
      ),
      writes({
        tools: [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
        tool_choice: { type: 'any' },
        thinking: adaptive,
        output_config: { effort: 'low' },
      }),
    ],
  },
  {
    is: 'an effort after a call that began with thinking',
    request: loop(thought('Hm.', signedBy('anthropic', 'c2ln'))),
    messages: writes(
      {
        ...looped({ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }),
        thinking: enabled(2_048),
      },
      sonnet,
    ),
  },
  {
    is: 'an effort after a call that began without thinking',
    request: loop(),
    messages: writes(looped(), sonnet, lost),
  },
  {
    is: 'an effort after a call that is over',
    request: {
      ...reasoning('low'),
      tools: [tool('f')],
      turns: [...loop().turns, assistant(text('So.')), user(text('?'))],
    },
    messages: writes(
      {
        ...looped(),
        messages: [
          ...(looped().messages as never[]),
          { role: 'assistant', content: [{ type: 'text', text: 'So.' }] },
          { role: 'user', content: [{ type: 'text', text: '?' }] },
        ],
        thinking: enabled(2_048),
      },
      sonnet,
    ),
  },
  {
    is: 'functions of GPT-5.6, which then takes no effort',
    request: { tools: [tool('f')] },
    chat: writes(
      {
        reasoning_effort: 'none',
        tools: [
          {
            type: 'function',
            function: { name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
          },
        ],
      },
      'gpt-5.6',
    ),
  },
  {
    is: 'an effort and functions of GPT-5.6',
    request: { ...reasoning('high'), tools: [tool('f')] },
    chat: writes(
      {
        reasoning_effort: 'none',
        tools: [
          {
            type: 'function',
            function: { name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
          },
        ],
      },
      'gpt-5.6',
      lost,
    ),
  },
];
