/** Texts of the system and of earlier turns. */
import type { Turn } from '../../../src/canonical/request.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { json } from './fragments.ts';
import { bytes, signedBy, system, text, thought } from './parts.ts';
import type { RequestRow } from './request-rows.ts';
import { requestRow } from './wire-text.ts';

const after = (...turns: readonly Turn[]) => ({ turns: [user(text('Hi')), ...turns] });

const sealed = signedBy('anthropic', 'c2ln');
const google = signedBy('gemini', 'c2ln');
const data = 'iVBORw0KGgo=';

/** Texts of the system. */
export const systemTexts: readonly RequestRow[] = [
  requestRow('a system text', { system: [text('A')] })`
    chat <> {messages:[{role:"system",content:"A"},${json.hi}]}
    chat < {messages:[{role:"developer",content:"A"},${json.hi}]}
    chat > {messages:[{role:"user",content:[{type:"text",text:"A"},{type:"text",text:"Hi"}]}]}
      | to {systemInstruction:false}
    responses < {instructions:"A"}
    responses < {input:[{role:"system",content:"A"},${json.hi}]}
    messages <> {system:[{type:"text",text:"A"}]}
    messages < {system:"A"}
    messages < {messages:[{role:"system",content:"A"},${json.hi}]}
    messages < {system:[{type:"text",text:"A"},{type:"text",text:""}]}
    messages < {system:[{type:"text",text:"x-anthropic-billing-header: cc_version=2; cch=1"},
      {type:"text",text:"A"}]} | lost system[0]
    messages < {system:[{type:"text",text:"A"},{type:"text",
      text:"x-anthropic-billing-header: cc_version=2; cch=1"}]} | lost system[1]
    gemini <> {systemInstruction:{parts:[{text:"A"}]}}
    gemini < {systemInstruction:{role:"user",parts:[{text:"A"}]}}
    gemini < {systemInstruction:[{text:"A"}]}
    gemini < {systemInstruction:{text:"A"}}
    gemini < {systemInstruction:"A"}
    gemini > {contents:[{role:"user",parts:[{text:"A"},{text:"Hi"}]}]} | to "gemma-3-27b-it"
    gemini < {systemInstruction:{parts:[{inlineData:{mimeType:"image/png",data:"iVBORw0KGgo="}}]}}
      | refused not_portable systemInstruction.parts[0]
  `,
  requestRow('several system texts', { system: [text('A'), text('B'), text('C')] })`
    chat <> {messages:[{role:"system",content:[{type:"text",text:"A"},${json.textB},{type:"text",
      text:"C"}]},${json.hi}]}
    chat < {messages:[{role:"system",content:"A"},{role:"developer",content:[${json.textB},
      {type:"text",text:"C"}]},${json.hi}]}
    responses < {instructions:"A",input:[{role:"developer",content:"B"},{type:"additional_tools",
      role:"developer",tools:[]},{role:"system",content:[{type:"input_text",text:"C"}]},${json.hi}]}
    messages <> {system:[{type:"text",text:"A"},${json.textB},{type:"text",text:"C"}]}
    messages < {system:[{type:"text",text:"A"},${json.textB}],messages:[{role:"system",content:"C"},
      ${json.hi}]}
    gemini <> {systemInstruction:{parts:[{text:"A"},{text:"B"},{text:"C"}]}}
  `,
  requestRow('a system text with a cache mark', {
    system: [text('A', { cacheControl: { type: 'ephemeral' } })],
  })`
    messages > {system:[{type:"text",text:"A",cache_control:{type:"ephemeral"}}]}
    messages < {system:[{type:"text",text:"A",cache_control:{type:"ephemeral"}}]}
      | read ${{ system: [text('A')] }} | lost cache_control
    gemini > {systemInstruction:{parts:[{text:"A"}]}} | lost at.cache_control
  `,
  requestRow('system texts alone, the last of which is then the question', {
    system: [text('A'), text('B')],
    turns: [],
  })`
    chat < {messages:[{role:"system",content:"A"},{role:"system",content:"B"}]}
      | read ${{ system: [text('A')], turns: [user(text('B'))] }}
    chat > {messages:[{role:"system",content:[{type:"text",text:"A"},${json.textB}]}]}
    responses < {instructions:"A",input:[{role:"system",content:"B"}]}
      | read ${{ system: [text('A')], turns: [user(text('B'))] }}
    messages > {system:[{type:"text",text:"A"}],messages:[{role:"user",content:[${json.textB}]}]}
      | lost messages
    gemini > {systemInstruction:{parts:[{text:"A"}]},contents:[{role:"user",parts:[{text:"B"}]}]}
  `,
  requestRow(
    'a system text in the middle',
    after(system(text('S')), assistant(text('B')), user(text('C'))),
  )`
    chat <> [{role:"system",content:"S"},{role:"assistant",content:"B"},${json.userC}]
    chat > {messages:[{role:"system",content:"S"},${json.hi},{role:"assistant",content:"B"},
      ${json.userC}]} | to {midSystem:"lift"}
    responses < [{role:"developer",content:"S"},{role:"assistant",content:"B"},${json.userC}]
    messages <> [{role:"system",content:[{type:"text",text:"S"}]},{role:"assistant",content:
      [${json.textB}]},${json.claudeC}]
    messages > [{role:"assistant",content:[${json.textB}]},${json.claudeC}] & {system:[{type:"text",
      text:"S"}]} | to "claude-sonnet-4-5"
    messages < {messages:[${json.hi},{role:"system",content:"S",clear_at:"end",output_config:
      {effort:"low"}},{role:"assistant",content:"B"},${json.userC}]}
      | lost messages.clear_at, messages.output_config
    gemini > [{role:"model",parts:[{text:"B"}]},${json.geminiC}] & {systemInstruction:{parts:
      [{text:"S"}]}}
    gemini > [{role:"user",parts:[{text:"S"}]},{role:"model",parts:[{text:"B"}]},${json.geminiC}]
      | to {midSystem:"inline"}
  `,
  requestRow(
    'a system text after the model’s turn',
    after(assistant(text('B')), system(text('S')), user(text('C'))),
  )`
    messages > [{role:"assistant",content:[${json.textB}]},${json.claudeC},{role:"system",content:
      [{type:"text",text:"S"}]}]
  `,
  requestRow('a system text at the end', after(assistant(text('B')), system(text('S'))))`
    messages > [{role:"assistant",content:[${json.textB}]},{role:"user",content:[{type:"text",
      text:"S"}]}] | lost messages | to "claude-opus-5"
    messages > [{role:"assistant",content:[${json.textB}]},{role:"user",content:[{type:"text",
      text:"S"}]}] | lost messages | to "claude-sonnet-4-5"
  `,
];

const blank = after(assistant(text('')), user(text('You?')));

/** Texts of earlier turns. */
export const turns: readonly RequestRow[] = [
  requestRow('two texts of the model', after(assistant(text('c '), text('\nd')), user(text('e'))))`
    chat > [{role:"assistant",content:"c \nd"},${json.userE}]
    chat > [{role:"assistant",content:[{type:"text",text:"c "},{type:"text",text:"\nd"}]},
      ${json.userE}] | to {assistantParts:true}
    chat < [{role:"assistant",content:[{type:"text",text:"c "},{type:"text",text:"\nd"}]},
      ${json.userE}]
    responses < [{type:"message",role:"assistant",id:"msg_1",status:"completed",phase:"commentary",
      content:[{type:"output_text",text:"c ",annotations:[{}],logprobs:[{}],parsed:{}},
      {type:"refusal",refusal:"\nd"}]},${json.userE}]
    messages <> [{role:"assistant",content:[{type:"text",text:"c "},{type:"text",text:"\nd"}]},
      {role:"user",content:[{type:"text",text:"e"}]}]
    gemini <> [{role:"model",parts:[{text:"c "},{text:"\nd"}]},{role:"user",parts:[{text:"e"}]}]
  `,
  requestRow('a blank turn', blank)`
    chat > [{role:"assistant",content:""},{role:"user",content:"You?"}]
    messages > {messages:[{role:"user",content:[{type:"text",text:"Hi"},{type:"text",
      text:"You?"}]}]}
    gemini > [{role:"model",parts:[{text:""}]},{role:"user",parts:[{text:"You?"}]}]
  `,
  requestRow('an empty turn of the user, and one of the model', {
    turns: [user(), assistant(), user(text('Go on'))],
  })`
    chat > {messages:[{role:"user",content:""},{role:"user",content:"Go on"}]}
  `,
  requestRow('a blank question', { turns: [user(text('  '))] })`
    messages > {} | refused not_portable at
  `,
  requestRow('two turns of the user', after(user(text('B'), text('C'))))`
    chat <> [{role:"user",content:[${json.textB},{type:"text",text:"C"}]}]
    responses < [{role:"user",content:[{type:"input_text",text:"B"},{type:"input_text",text:"C"}]}]
    messages > {messages:[{role:"user",content:[{type:"text",text:"Hi"},${json.textB},{type:"text",
      text:"C"}]}]}
    messages < [{role:"user",content:[${json.textB},{type:"text",text:"C"}]}]
    gemini < [{role:"user",parts:[{text:"B"},{text:"C"}]}]
    gemini > {contents:[{role:"user",parts:[{text:"Hi"},{text:"B"},{text:"C"}]}]}
    gemini < [{role:"model",parts:[]},{role:"user",parts:[{text:"B"},{text:"C"}]}]
  `,
  requestRow('an empty part beside others', { turns: [user(text('a'), text(''), text('b'))] })`
    gemini > {contents:[{role:"user",parts:[{text:"a"},{text:"b"}]}]}
  `,
  requestRow('a turn of the model at the end', after(assistant(text('So \n'))))`
    chat <> [{role:"assistant",content:"So \n"}]
    chat > {} | to {prefill:false} | refused not_portable at
    messages > {} | refused not_portable at
    messages > [{role:"assistant",content:[{type:"text",text:"So"}]}] | lost at
      | to "claude-sonnet-4-5"
    gemini <> [{role:"model",parts:[{text:"So \n"}]}]
    gemini > {} | to {prefill:false} | refused not_portable at
  `,
  requestRow(
    'thinking before a turn of the model at the end',
    after(assistant(thought('Hm.', sealed), text('So '))),
  )`
    messages > [{role:"assistant",content:[{type:"text",text:"So"}]}] | lost at
      | to "claude-sonnet-4-5"
  `,
  requestRow(
    'an image of the model',
    after(assistant(bytes('image/png', data, google)), user(text('B'))),
  )`
    chat < [{role:"assistant",content:null,images:[{type:"image_url",image_url:
      {url:"data:image/png;base64,iVBORw0KGgo="},index:0,${json.sign}}]},{role:"user",content:"B"}]
    chat > {} | refused not_portable at
    chat > [{role:"assistant",content:"",images:[{type:"image_url",image_url:
      {url:"data:image/png;base64,iVBORw0KGgo="}}]},{role:"user",content:"B"}]
      | to {mediaOutput:true}
    gemini <> [{role:"model",parts:[{inlineData:{mimeType:"image/png",data:"iVBORw0KGgo="},
      thoughtSignature:"c2ln"}]},{role:"user",parts:[{text:"B"}]}]
  `,
];
