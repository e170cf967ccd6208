/** Tools, the choice among them, and the format of the output. */

import type { ToolChoice } from '../../../src/canonical/request.ts';
import type { JsonObject } from '../../../src/json.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { json } from './fragments.ts';
import { builtIn, call, result, text, tool } from './parts.ts';
import { both, type RequestRow, reads, writes } from './request-rows.ts';
import { requestRow } from './wire-text.ts';

const open: JsonObject = { type: 'object', properties: { a: { type: 'string' } } };
const closed: JsonObject = { ...open, required: ['a'], additionalProperties: false };
const none: JsonObject = { type: 'object', properties: {} };
const mark = { cacheControl: { type: 'ephemeral' } };

/** The declarations of functions as each wire has them. */
const chat = (name: string, more: JsonObject = {}): JsonObject => ({
  type: 'function',
  function: { name, parameters: none, strict: false, ...more },
});
const claude = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  input_schema: none,
  ...more,
});
const gemini = (...functionDeclarations: readonly JsonObject[]) => ({
  tools: [{ functionDeclarations }],
});
const fg = { tools: [tool('f'), tool('g')] };
const chosen = (mode: ToolChoice['mode'], ...names: readonly string[]) => ({
  ...fg,
  toolChoice: { mode, names },
});
const chatTools = { tools: [chat('f'), chat('g')] };
const claudeTools = { tools: [claude('f'), claude('g')] };
const claudeRead = { tools: ['f', 'g'].map((name) => tool(name, { parameters: none })) };
const chatRead = { tools: ['f', 'g'].map((name) => tool(name)) };
const sentByChat = { tools: ['f', 'g'].map((name) => ({ type: 'function', function: { name } })) };
const sentByResponses = { tools: ['f', 'g'].map((name) => ({ type: 'function', name })) };
const calling = (mode: string, ...allowedFunctionNames: readonly string[]) => ({
  ...gemini({ name: 'f' }, { name: 'g' }),
  toolConfig: {
    functionCallingConfig: {
      mode,
      ...(allowedFunctionNames.length === 0 ? {} : { allowedFunctionNames }),
    },
  },
});

/** Declarations. */
export const tools: readonly RequestRow[] = [
  requestRow('a function with a schema', {
    tools: [tool('f', { description: 'F.', parameters: open })],
  })`
    chat < {tools:[${json.f}]} | read ${{ tools: [tool('f')] }}
    chat < {tools:[{function:{name:"f",description:"F.",parameters:${json.open}}}]}
    chat < {functions:[{name:"f",description:"F.",parameters:${json.open}}]}
      | names {tools:"functions"}
    chat > {tools:[{type:"function",function:{name:"f",parameters:${json.open},strict:false,
      description:"F."}}]}
    responses < {tools:[{type:"function",name:"f",description:"F.",parameters:${json.open}}]}
    messages <> {tools:[{name:"f",input_schema:${json.open},description:"F."}]}
    messages < {tools:[{name:"f",input_schema:${json.open},description:"F.",type:null}]}
    messages < {tools:[{name:"f",input_schema:${json.open},description:"F.",type:"custom"}]}
    gemini <> {tools:[{functionDeclarations:[{name:"f",description:"F.",
      parametersJsonSchema:${json.open}}]}]}
    gemini < {tools:[{functionDeclarations:[{name:"f",description:"F.",response:{type:"STRING"},
      parameters:{type:"OBJECT",properties:{a:{type:"STRING"}}}}]}]}
      | lost tools[0].functionDeclarations[0].response
    gemini < {tools:{functionDeclarations:[{name:"f",description:"F.",parameters:${json.open}}]}}
  `,
  requestRow('a function without a schema', { tools: [tool('f')] })`
    chat > {${json.chatTool}}
    messages > {${json.claudeTool}}
    gemini <> {${json.geminiTool}}
    gemini < {tools:[{functionDeclarations:[{name:"f",parameters:{}}]}]}
  `,
  requestRow('a schema with a title', {
    tools: [tool('f', { parameters: { title: 'T', ...closed } })],
  })`
    chat > {tools:[{type:"function",function:{name:"f",parameters:{title:"T",type:"object",
      properties:{a:{type:"string"}},required:["a"],additionalProperties:false},strict:false}}]}
    messages > {tools:[{name:"f",input_schema:{title:"T",type:"object",properties:{a:
      {type:"string"}},required:["a"],additionalProperties:false}}]}
    gemini > {tools:[{functionDeclarations:[{name:"f",parametersJsonSchema:${json.closed}}]}]}
      | lost tools.schema.title
    gemini > {tools:[{functionDeclarations:[{name:"f",parameters:{type:"OBJECT",title:"T",
      propertyOrdering:["a"],properties:{a:{type:"STRING"}},required:["a"]}}]}]} | lost tools.schema
      | to "gemini-1.5-pro"
  `,
  requestRow('a strict function', { tools: [tool('f', { parameters: closed, strict: true })] })`
    chat <> {tools:[{type:"function",function:{name:"f",parameters:${json.closed},strict:true}}]}
    chat > {tools:[{type:"function",function:{name:"f",parameters:${json.closed}}}]}
      | lost tools[0].strict | to {strictTools:false}
    responses < {tools:[{type:"function",name:"f",parameters:${json.closed},strict:true}]}
    messages <> {tools:[{name:"f",input_schema:${json.closed},strict:true}]}
    messages > {tools:[{name:"f",input_schema:${json.closed}}]} | lost tools[0].strict
      | to "claude-3-7-sonnet"
    gemini <> {tools:[{functionDeclarations:[{name:"f",parametersJsonSchema:${json.closed}}]}],
      toolConfig:{functionCallingConfig:{mode:"VALIDATED"}}}
      | read ${{ toolChoice: { mode: 'auto', names: [] } }}
    gemini > {tools:[{functionDeclarations:[{name:"f",parametersJsonSchema:${json.closed}}]}]}
      | lost tools[0].strict | to "gemini-2.0-flash"
  `,
  requestRow('a strict function whose schema is open', {
    tools: [tool('f', { parameters: open, strict: true })],
  })`
    chat > {tools:[{type:"function",function:{name:"f",parameters:${json.open},strict:false}}]}
      | lost tools[0].strict
    messages > {tools:[{name:"f",input_schema:{type:"object",properties:{a:{type:"string"}},
      additionalProperties:false},strict:true}]}
  `,
  requestRow('a function that is not strict', {
    tools: [tool('f', { parameters: open, strict: false })],
  })`
    chat <> {tools:[{type:"function",function:{name:"f",parameters:${json.open},strict:false}}]}
    responses < {tools:[{type:"function",name:"f",parameters:${json.open},strict:false}]}
    responses < {tools:[{type:"function",name:"f",parameters:${json.open},strict:null}]}
      | read ${{ tools: [tool('f', { parameters: open })] }}
    messages < {tools:[{name:"f",input_schema:${json.open},strict:false}]}
  `,
  requestRow('a function with a cache mark', { tools: [tool('f', { parameters: none, ...mark })] })`
    chat < {tools:[{type:"function",function:{name:"f"},cache_control:{type:"ephemeral"}}]}
      | read ${{ tools: [tool('f', mark)] }}
    chat > {${json.chatTool}} | lost tools[0].cache_control
    messages > {tools:[{name:"f",input_schema:${json.none},cache_control:{type:"ephemeral"}}]}
    messages < {tools:[{name:"f",input_schema:${json.none},cache_control:{type:"ephemeral"}}]}
      | read ${{ tools: [tool('f', { parameters: none })] }} | lost cache_control
    gemini > {tools:[{functionDeclarations:[{name:"f",parametersJsonSchema:${json.none}}]}]}
      | lost tools[0].cache_control
  `,
  requestRow('a name that no upstream accepts', {
    tools: [tool('1 f/g.h:')],
    toolChoice: { mode: 'required', names: ['1 f/g.h:'] },
    turns: [
      user(text('Hi')),
      assistant(call('a', '1 f/g.h:')),
      user(result('a', 'A', { name: '1 f/g.h:' })),
    ],
  })`
    chat > [{role:"assistant",content:null,tool_calls:[{id:"a",type:"function",function:
      {name:"~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$",arguments:"{}"}}]},${json.chatResult}] & {tools:
      [{type:"function",function:{name:"~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$",parameters:${json.none},
      strict:false}}],tool_choice:{type:"function",function:{name:"~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$"}}}
    messages > [{role:"assistant",content:[{type:"tool_use",id:"a",
      name:"~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$",input:{}}]},{role:"user",content:
      [${json.claudeResult}]}] & {tools:[{name:"~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$",
      input_schema:${json.none}}],tool_choice:{type:"tool",name:"~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$"}}
    gemini > [{role:"model",parts:[{functionCall:{id:"a",name:"~^[a-zA-Z_][\\w.:-]*_[0-9a-f]{6}$",
      args:{}},thoughtSignature:"~."}]},{role:"user",parts:[{functionResponse:{id:"a",
      name:"~^[a-zA-Z_][\\w.:-]*_[0-9a-f]{6}$",response:{output:"A"}}}]}] & {tools:
      [{functionDeclarations:[{name:"~^[a-zA-Z_][\\w.:-]*_[0-9a-f]{6}$"}]}],toolConfig:
      {functionCallingConfig:{mode:"ANY",allowedFunctionNames:
      ["~^[a-zA-Z_][\\w.:-]*_[0-9a-f]{6}$"]}}}
  `,
  requestRow('a call of a function that is not declared', {
    turns: [user(text('Hi')), assistant(call('a', 'f')), user(result('a', 'A'))],
  })`
    messages > [${json.claudeCall},{role:"user",content:
      [${json.claudeResult}]}] & {${json.declared}}
  `,
  requestRow('a tool of Google beside a function', {
    tools: [tool('f'), builtIn('gemini', 'googleSearch')],
  })`
    chat > {} | refused not_portable tools[1]
    chat > {${json.chatTool}} | lost tools[1] | to {dropBuiltInTools:true}
    messages > {} | refused not_portable tools[1]
    messages > {${json.claudeTool}} | lost tools[1] | to {dropBuiltInTools:true}
    gemini <> {tools:[{functionDeclarations:[{name:"f"}]},{googleSearch:{}}]}
    gemini < {tools:[{functionDeclarations:[{name:"f"}],googleSearch:{},codeExecution:null}]}
    gemini > {} | to "gemini-2.5-flash" | refused not_portable tools[1]
  `,
  requestRow('a tool of Google alone', { tools: [builtIn('gemini', 'urlContext')] })`
    chat > {} | refused not_portable tools[1]
    chat > {} | lost tools[1] | to {dropBuiltInTools:true}
    messages > {} | refused not_portable tools[1]
    messages > {} | lost tools[1] | to {dropBuiltInTools:true}
    gemini <> {tools:[{urlContext:{}}]}
  `,
  requestRow('a tool of another provider, and a choice', {
    ...chosen('required', 'f', 'g'),
    tools: [...fg.tools, builtIn('x', 'search')],
  })`
    chat > {} | refused not_portable tools[1]
    messages > {} | refused not_portable tools[1]
    gemini > {} | refused not_portable tools[1]
    gemini > {${json.geminiTools},toolConfig:{functionCallingConfig:{mode:"ANY",
      allowedFunctionNames:["f","g"]}}} | lost tools[1] | to {dropBuiltInTools:true}
  `,
  requestRow('a search of OpenAI, which is left out', { tools: [tool('f')] })`
    responses < {tools:[{type:"function",name:"f"},{type:"web_search"}]} | lost tools[1]
    responses < {tools:[{type:"function",name:"f"},{type:"web_search_preview"}]} | lost tools[1]
    responses < {tools:[{type:"function",name:"f"},{type:"web_search_2025_08_26"}]} | lost tools[1]
    responses < {tools:[{type:"function",name:"f"},{type:"web_search"}],include:
      ["reasoning.encrypted_content","web_search_call.action.sources"]} | lost tools[1], include[1]
  `,
  requestRow('a custom tool of OpenAI', {
    tools: [tool('f'), builtIn('openai', 'custom', { name: 'c' })],
  })`
    chat < {tools:[${json.f},{type:"custom",custom:{name:"c"}}]}
    messages > {} | refused not_portable tools[1]
    gemini > {} | refused not_portable tools[1]
  `,
];

/** The choice. */
export const choices: readonly RequestRow[] = [
  requestRow('two functions', fg)`
    chat > {${json.chatTools}}
    messages > {${json.claudeTools}}
    gemini <> {${json.geminiTools}}
  `,
  ...(['auto', 'none', 'required'] as const).map((mode): RequestRow => {
    const type = mode === 'required' ? 'any' : mode;
    const config = calling(mode === 'required' ? 'ANY' : mode.toUpperCase());
    return {
      is: `the choice ${mode}`,
      request: chosen(mode),
      chat: [
        writes({ ...chatTools, tool_choice: mode }),
        reads({ ...sentByChat, tool_choice: mode }, { read: chatRead }),
      ],
      responses: reads({ ...sentByResponses, tool_choice: mode }),
      messages: [
        writes({ ...claudeTools, tool_choice: { type } }),
        reads({ ...claudeTools, tool_choice: { type } }, { read: claudeRead }),
        reads(
          { ...claudeTools, tool_choice: { type, disable_parallel_tool_use: true } },
          { read: { ...claudeRead, parallelToolCalls: false } },
        ),
      ],
      gemini: [
        both(config),
        reads({
          ...config,
          toolConfig: { functionCallingConfig: { mode: `mode_${type}` } },
        }),
      ],
    };
  }),
  requestRow('no tool, although one is named', chosen('none', 'f'))`
    chat > {${json.chatTools},tool_choice:"none"}
    chat > {} | to {toolChoice:"auto"}
    messages > {${json.declared}}
  `,
  requestRow('the choice of one function', chosen('required', 'g'))`
    chat > {${json.chatTools},tool_choice:${json.g}}
    chat > {${json.chatTools},tool_choice:${json.g}} | to {allowedTools:false}
    chat > {tools:[{type:"function",function:{name:"g",parameters:${json.none},strict:false}}],
      tool_choice:"required"} | to {toolChoice:"required"}
    chat > {tools:[{type:"function",function:{name:"g",parameters:${json.none},strict:false}}]}
      | to {toolChoice:"auto"} | lost tool_choice
    chat < {${json.sentToChat},tool_choice:${json.g}}
    chat < {${json.sentToChat},tool_choice:{type:"custom",custom:{name:"g"}}}
    chat < {${json.sentToChat},function_call:{name:"g"}} | names {toolChoice:"function_call"}
    responses < {${json.sentToResponses},tool_choice:{type:"function",name:"g"}}
    responses < {${json.sentToResponses},tool_choice:{type:"custom",name:"g"}}
    messages > {${json.claudeTools},tool_choice:{type:"tool",name:"g"}}
    messages < {${json.claudeTools},tool_choice:{type:"tool",name:"g"}} | read ${claudeRead}
    gemini <> {${json.geminiTools},toolConfig:{functionCallingConfig:{mode:"ANY",
      allowedFunctionNames:["g"]}}}
  `,
  requestRow('the older choice none', { toolChoice: { mode: 'none', names: [] } })`
    chat < {function_call:"none"} | names {toolChoice:"function_call"}
  `,
  requestRow('the choice of some functions', chosen('auto', 'g'))`
    chat > {${json.chatTools},tool_choice:{type:"allowed_tools",allowed_tools:{mode:"auto",tools:
      [${json.g}]}}}
    chat > {tools:[{type:"function",function:{name:"g",parameters:${json.none},strict:false}}],
      tool_choice:"auto"} | to {allowedTools:false}
    chat > {tools:[{type:"function",function:{name:"g",parameters:${json.none},strict:false}}]}
      | to {allowedTools:false,toolChoice:"auto"}
    chat < {${json.sentToChat},tool_choice:{type:"allowed_tools",allowed_tools:{mode:"auto",tools:
      [${json.g}]}}}
    responses < {${json.sentToResponses},tool_choice:{type:"allowed_tools",mode:"auto",tools:
      [{type:"function",name:"g"}]}}
    messages > {tools:[{name:"g",input_schema:${json.none}}],tool_choice:{type:"auto"}}
    gemini <> {${json.geminiTools},toolConfig:{functionCallingConfig:{mode:"VALIDATED",
      allowedFunctionNames:["g"]}}}
      | read ${{ tools: fg.tools.map((one) => ({ ...one, strict: true })) }}
    gemini < {${json.geminiTools},toolConfig:{functionCallingConfig:{mode:"AUTO",
      allowedFunctionNames:["g"]}}}
    gemini > {tools:[{functionDeclarations:[{name:"g"}]}],toolConfig:{functionCallingConfig:
      {mode:"AUTO"}}} | to "gemini-2.0-flash"
  `,
  requestRow(
    'the choice of two functions, one of which must be called',
    chosen('required', 'f', 'g'),
  )`
    chat > {${json.chatTools},tool_choice:{type:"allowed_tools",allowed_tools:{mode:"required",
      ${json.sentToChat}}}}
    chat > {${json.chatTools},tool_choice:"required"} | to {allowedTools:false}
    chat > {${json.chatTools}} | to {toolChoice:"auto"} | lost tool_choice
    messages > {${json.claudeTools},tool_choice:{type:"any"}}
    gemini <> {${json.geminiTools},toolConfig:{functionCallingConfig:{mode:"ANY",
      allowedFunctionNames:["f","g"]}}}
  `,
  requestRow('the choice of a function that is not declared', chosen('required', 'x'))`
    chat > {} | refused invalid_request tool_choice
    messages > {} | refused invalid_request tool_choice
    messages < {${json.claudeTools},tool_choice:{type:"tool",name:"x"}}
      | refused invalid_request tool_choice.name
    messages < {tool_choice:{type:"tool",name:"x"}} | refused invalid_request tool_choice.name
    gemini > {} | refused invalid_request tool_choice
  `,
  requestRow('a choice without tools', { toolChoice: { mode: 'auto', names: [] } })`
    chat > {} | lost tool_choice
    messages > {} | lost tool_choice
    gemini > {}
  `,
  requestRow('one call at a time', { ...fg, parallelToolCalls: false })`
    chat > {${json.chatTools},parallel_tool_calls:false}
    chat < {${json.sentToChat},parallel_tool_calls:false}
    chat > {${json.chatTools}} | lost parallel_tool_calls | to {parallelToolCalls:false}
    responses < {${json.sentToResponses},parallel_tool_calls:false}
    messages > {${json.claudeTools},tool_choice:{type:"auto",disable_parallel_tool_use:true}}
    gemini > {${json.geminiTools}} | lost parallel_tool_calls
  `,
  requestRow('one call at a time, which is required', {
    ...chosen('required'),
    parallelToolCalls: false,
  })`
    messages > {${json.claudeTools},tool_choice:{type:"any",disable_parallel_tool_use:true}}
  `,
  requestRow('several calls at a time', { ...fg, parallelToolCalls: true })`
    chat > {${json.chatTools},parallel_tool_calls:true}
    chat > {${json.chatTools}} | to {parallelToolCalls:false}
    responses < {${json.sentToResponses},parallel_tool_calls:true}
    messages > {${json.claudeTools}}
    gemini > {${json.geminiTools}}
  `,
];
