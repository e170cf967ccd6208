/** How much a model should reason, per model, and whether it is shown. */

import type { Part } from '../../../src/canonical/request.ts';
import type { ReasoningEffort } from '../../../src/ports/models/capabilities.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { json } from './fragments.ts';
import { call, result, signedBy, text, thought, tool } from './parts.ts';
import { type Form, type RequestRow, writes } from './request-rows.ts';
import { requestRow } from './wire-text.ts';
import type { To } from './wires.ts';

const reasoning = (
  effort?: ReasoningEffort,
  budgetTokens?: number,
  includeThoughts?: boolean,
  budgetAt?: string,
) => ({ reasoning: { effort, budgetTokens, includeThoughts, ...(budgetAt && { budgetAt }) } });
const lost = 'reasoning_effort';
const opus = 'claude-opus-5';

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

/** Efforts, budgets and summaries. */
export const reasoningSettings: readonly RequestRow[] = [
  ...ofGemini,
  requestRow('the effort high', reasoning('high'))`
    chat < {reasoning_effort:"high"} | read ${reasoning('high', undefined, true)}
    chat > {reasoning_effort:"high"} | to {reasoning:"effort",efforts:["none","minimal","low",
      "medium","high"]}
    chat > {} | lost reasoning_effort
    responses < {reasoning:{effort:"high"}} | read ${reasoning('high', undefined, false)}
    responses < {reasoning:{effort:"high",summary:"auto"}}
      | read ${reasoning('high', undefined, true)}
    messages < {output_config:{effort:"high"}} | read ${reasoning('high', undefined, false)}
      | names {reasoning:"output_config.effort"}
    messages > {thinking:{type:"adaptive",display:"summarized"},output_config:{effort:"high"}}
      | to "claude-opus-5"
    messages > {} | lost reasoning_effort | to "claude-3-haiku"
    gemini < {generationConfig:{thinkingConfig:{thinkingLevel:"HIGH"}}}
    gemini < {generationConfig:{thinkingConfig:{thinkingLevel:"thinking_level_high"}}}
    gemini > {} | lost reasoning_effort | to "gemini-2.0-flash"
  `,
  requestRow('the effort none', reasoning('none'))`
    chat < {reasoning_effort:"none"} | read ${reasoning('none', undefined, false)}
    chat > {reasoning_effort:"low"} | lost reasoning_effort | to {reasoning:"effort",efforts:["low",
      "high"]}
    responses < {reasoning:{effort:"none"}} | read ${reasoning('none', undefined, false)}
    messages < {thinking:{type:"disabled"}} | read ${reasoning('none', undefined, false)}
    messages < {thinking:{type:"disabled"},output_config:{effort:"low"}}
      | read ${reasoning('none', undefined, false)} | lost output_config.effort
    messages > {thinking:{type:"disabled"}} | to "claude-opus-5"
    messages > {thinking:{type:"disabled"}} | to "claude-sonnet-4-5"
    messages > {} | to "claude-3-haiku"
    gemini > {} | to "gemini-2.0-flash"
  `,
  requestRow('the effort minimal', reasoning('minimal'))`
    chat > {reasoning_effort:"low"} | lost reasoning_effort | to {reasoning:"effort",efforts:
      ["none","low","medium"]}
    messages > {thinking:{type:"adaptive",display:"summarized"},output_config:{effort:"low"}}
      | lost reasoning_effort | to "claude-opus-5"
    messages > {thinking:{type:"enabled",budget_tokens:1024}} | to "claude-sonnet-4-5"
  `,
  requestRow('the effort low', reasoning('low'))`
    chat > {reasoning_effort:"high"} | lost reasoning_effort | to {reasoning:"effort",efforts:
      ["high","max"]}
    messages > {thinking:{type:"enabled",budget_tokens:2048}} | to "claude-sonnet-4-5"
  `,
  requestRow('the effort medium', reasoning('medium'))`
    chat > {reasoning_effort:"high"} | lost reasoning_effort | to {reasoning:"effort",efforts:
      ["low","high"]}
    messages > {thinking:{type:"enabled",budget_tokens:8191}} | lost reasoning_effort
      | to "claude-sonnet-4-5"
  `,
  requestRow('the effort xhigh', reasoning('xhigh'))`
    messages > {thinking:{type:"adaptive",display:"summarized"},output_config:{effort:"xhigh"}}
      | to "claude-opus-5"
    messages > {thinking:{type:"adaptive",display:"summarized"},output_config:{effort:"high"}}
      | lost reasoning_effort | to "claude-opus-4-6"
  `,
  requestRow('the effort max', reasoning('max', undefined, false))`
    chat > {reasoning_effort:"high"} | lost reasoning_effort | to {reasoning:"effort",efforts:
      ["none","minimal","low","medium","high"]}
    messages < {output_config:{effort:"max"}} | names {reasoning:"output_config.effort"}
  `,
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
  requestRow('a budget that is too small', reasoning(undefined, 5))`
    messages > {thinking:{type:"enabled",budget_tokens:1024}} | lost reasoning_effort
      | to "claude-sonnet-4-5"
  `,
  requestRow('any budget', reasoning(undefined, -1))`
    messages > {} | to "claude-sonnet-4-5"
    gemini < {generationConfig:{thinkingConfig:{thinkingBudget:-1}}}
  `,
  requestRow('a budget that is shown', reasoning(undefined, 8, true))`
    messages < {thinking:{type:"enabled",budget_tokens:8}}
    messages < {thinking:{type:"enabled",budget_tokens:8,block_binding:
      {prefix_mismatch_behavior:"error"}}} | lost thinking.block_binding
    gemini < {generationConfig:{thinkingConfig:{thinkingBudget:8,includeThoughts:true}}}
  `,
  requestRow('a budget that is hidden', reasoning(undefined, 8, false))`
    messages < {thinking:{type:"enabled",budget_tokens:8,display:"omitted"}}
  `,
  requestRow('a budget beside an effort', reasoning('low', 2_000, true, 'b'))`
    chat > {reasoning_effort:"low"} | lost b | to "gpt-5.4"
    chat > {} | lost reasoning_effort, b | to "gpt-4.1"
    messages < {thinking:{type:"enabled",budget_tokens:2000},output_config:{effort:"low"}}
      | names {reasoning:"output_config.effort"}
    gemini > {generationConfig:{thinkingConfig:{thinkingLevel:"LOW",includeThoughts:true}}} | lost b
      | to "gemini-3-pro-preview"
    gemini > {generationConfig:{thinkingConfig:{thinkingBudget:2000,includeThoughts:true}}}
      | lost reasoning_effort | to "gemini-2.5-flash"
  `,
  requestRow('adaptive thinking with an effort', reasoning('xhigh', undefined, false))`
    messages < {thinking:{type:"adaptive"},output_config:{effort:"xhigh"}}
      | names {reasoning:"output_config.effort"}
  `,
  requestRow('reasoning that is shown', reasoning(undefined, undefined, true))`
    chat > {} | to {reasoning:"effort",efforts:["none","minimal","low","medium","high"]}
    responses < {reasoning:{summary:"auto"}} | names {reasoning:"reasoning.summary"}
    responses < {reasoning:{summary:"concise"}} | names {reasoning:"reasoning.summary"}
    responses < {reasoning:{summary:"detailed"}} | names {reasoning:"reasoning.summary"}
    responses < {reasoning:{generate_summary:"auto"}} | names {reasoning:"reasoning.summary"}
    messages < {thinking:{type:"adaptive",display:"summarized"}}
  `,
  requestRow('reasoning that is hidden', reasoning(undefined, undefined, false))`
    messages < {thinking:{type:"adaptive"}}
    messages < {thinking:{type:"adaptive",display:"updates"}} | lost thinking.display
  `,
  requestRow('thinking between tools', {})`
    messages < {thinking:{type:"between_tools"}} | lost thinking
  `,
  requestRow('an effort that is shown', reasoning('low', undefined, true))`
    messages > {thinking:{type:"adaptive",display:"summarized"},output_config:{effort:"low"}}
      | to "claude-opus-5"
  `,
  requestRow('an effort that is hidden', reasoning('high', undefined, false))`
    messages > {thinking:{type:"adaptive",display:"omitted"},output_config:{effort:"high"}}
      | to "claude-opus-5"
    gemini > {generationConfig:{thinkingConfig:{thinkingLevel:"HIGH",includeThoughts:false}}}
      | to "gemini-3-flash"
  `,
  requestRow('a limit that leaves no room for a budget', {
    ...reasoning('high'),
    maxOutputTokens: 1_024,
  })`
    messages > {max_tokens:1024} | lost reasoning_effort | to "claude-sonnet-4-5"
  `,
  requestRow('an effort and sampling', {
    ...reasoning('low'),
    temperature: 1.5,
    topP: 0.5,
    topK: 5,
  })`
    messages > {thinking:{type:"enabled",budget_tokens:2048},temperature:1}
      | lost temperature, top_p, top_k | to "claude-sonnet-4-5"
  `,
  requestRow('an effort and a required call', {
    ...reasoning('low'),
    tools: [tool('f')],
    toolChoice: { mode: 'required', names: [] },
  })`
    messages > {${json.claudeTool},tool_choice:{type:"any"}} | lost reasoning_effort
      | to "claude-sonnet-4-5"
    messages > {${json.claudeTool},tool_choice:{type:"any"},thinking:{type:"adaptive",
      display:"summarized"},output_config:{effort:"low"}}
  `,
  requestRow(
    'an effort after a call that began with thinking',
    loop(thought('Hm.', signedBy('anthropic', 'c2ln'))),
  )`
    messages > [{role:"assistant",content:[{type:"thinking",thinking:"Hm.",signature:"c2ln"},
      ${json.claudeCallA}]},{role:"user",content:[${json.claudeResult}]},{role:"assistant",content:
      [{type:"tool_use",id:"b",name:"f",input:{}}]},{role:"user",content:
      [${json.claudeResultB}]}] & {${json.claudeTool},thinking:{type:"enabled",budget_tokens:2048}}
      | to "claude-sonnet-4-5"
  `,
  requestRow('an effort after a call that began without thinking', loop())`
    messages > [${json.claudeCall},{role:"user",content:[${json.claudeResult}]},{role:"assistant",
      content:[{type:"tool_use",id:"b",name:"f",input:{}}]},{role:"user",content:
      [${json.claudeResultB}]}] & {${json.claudeTool}} | lost reasoning_effort
      | to "claude-sonnet-4-5"
  `,
  requestRow('an effort after a call that is over', {
    ...reasoning('low'),
    tools: [tool('f')],
    turns: [...loop().turns, assistant(text('So.')), user(text('?'))],
  })`
    messages > [${json.claudeCall},{role:"user",content:[${json.claudeResult}]},{role:"assistant",
      content:[{type:"tool_use",id:"b",name:"f",input:{}}]},{role:"user",content:
      [${json.claudeResultB}]},{role:"assistant",content:[{type:"text",text:"So."}]},{role:"user",
      content:[{type:"text",text:"?"}]}] & {${json.claudeTool},thinking:{type:"enabled",
      budget_tokens:2048}} | to "claude-sonnet-4-5"
  `,
  requestRow('functions of GPT-5.6, which then takes no effort', { tools: [tool('f')] })`
    chat > {reasoning_effort:"none",${json.chatTool}} | to "gpt-5.6"
  `,
  requestRow('an effort and functions of GPT-5.6', { ...reasoning('high'), tools: [tool('f')] })`
    chat > {reasoning_effort:"none",${json.chatTool}} | lost reasoning_effort | to "gpt-5.6"
  `,
];
