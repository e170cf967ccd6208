/** Reasoning in the history, and the signatures that go back to the provider that made them. */

import type { Part } from '../../../src/canonical/request.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { json } from './fragments.ts';
import { after } from './history.ts';
import { call, result, signedBy, text, thought } from './parts.ts';
import type { RequestRow } from './request-rows.ts';
import {
  ofCallA,
  ofText,
  placeholder,
  sealedHidden,
  sealOfAnthropic,
  signed,
  signedEmpty,
  signedText,
  unsigned,
  unsignedText,
} from './seals.ts';
import { requestRow } from './wire-text.ts';

const anthropic = signedBy('anthropic', 'c2ln');
const google = signedBy('gemini', 'c2ln');
const hidden = signedBy('anthropic', 'aGlk', 'encrypted');
const answered = (...parts: readonly Part[]) =>
  after(assistant(...parts, text('B')), user(text('C')));
const called = (more: object) =>
  after(assistant(call('a', 'f', '{}', more)), user(result('a', 'A')));
const shown = answered(thought('Hm.', { displayOnly: true }));

/** Reasoning. */
export const reasoningHistory: readonly RequestRow[] = [
  requestRow('reasoning that nobody signed', answered(thought('Hm.')))`
    chat < [{role:"assistant",content:"B",reasoning_content:"Hm."},${json.userC}]
    chat > [{role:"assistant",content:"B"},${json.userC}] | lost at
    chat > [{role:"assistant",content:"B",reasoning_content:"Hm."},${json.userC}]
      | to {reasoningHistory:true}
    responses < [{type:"reasoning",summary:[{type:"summary_text",text:"Hm."}]},{role:"assistant",
      content:"B"},${json.userC}]
    messages > [{role:"assistant",content:[${json.textB}]},${json.claudeC}] | lost at
    gemini < [{role:"model",parts:[{text:"Hm.",thought:true},{text:"B"}]},${json.geminiC}]
    gemini > [{role:"model",parts:[{text:"B"}]},${json.geminiC}] | lost at
  `,
  requestRow('reasoning that was only shown', shown)`
    chat > [{role:"assistant",content:"B"},${json.userC}]
    chat > [{role:"assistant",content:"B",reasoning_content:"Hm."},${json.userC}]
      | to {reasoningHistory:true}
    responses < [{type:"reasoning",encrypted_content:"${unsignedText}",content:
      [{type:"reasoning_text",text:"cut"}]},{role:"assistant",content:"B"},${json.userC}]
    responses < [{type:"reasoning",id:"rs_tg_1",summary:[{type:"summary_text",text:"short"}],
      content:[{type:"reasoning_text",text:"Hm."}]},{role:"assistant",content:"B"},${json.userC}]
    responses < [{type:"reasoning",id:"rs_tg_1",summary:[{type:"summary_text",text:"Hm."}],
      content:null},{role:"assistant",content:"B"},${json.userC}]
    messages > [{role:"assistant",content:[${json.textB}]},${json.claudeC}]
    messages < [{role:"assistant",content:[{type:"thinking",thinking:"Hm.",signature:"${unsigned}"},
      ${json.textB}]},${json.claudeC}]
    messages < [{role:"assistant",content:[{type:"thinking",thinking:"",
      signature:"${unsignedText}"},${json.textB}]},${json.claudeC}]
    gemini > [{role:"model",parts:[{text:"B"}]},${json.geminiC}]
  `,
  requestRow('reasoning without anything', answered())`
    responses < [{type:"reasoning",id:"rs_tg_1",summary:[]},{role:"assistant",content:"B"},
      ${json.userC}]
    responses < [{type:"reasoning",id:"rs_1",summary:[]},{role:"assistant",content:"B"},
      ${json.userC}] | lost input[1]
    messages < [{role:"assistant",content:[{type:"thinking",thinking:"",signature:"${unsigned}"},
      ${json.textB}]},${json.claudeC}]
  `,
  ...['gAAAAABoISQ24OyVRYbk', unsignedText.slice(0, -4), 'Z3cyOnsicCI6'].map(
    (sealed) =>
      requestRow(`an envelope that is not ours, in Responses: ${sealed}`, shown)`
    responses < [{type:"reasoning",id:"rs_1",summary:[{type:"summary_text",text:"Hm."}],
      encrypted_content:"${sealed}"},{role:"assistant",content:"B"},${json.userC}]
      | lost input[1].encrypted_content
  `,
  ),
  ...['EqQBCkYIBBgCKkBVbWl0', unsignedText.slice(0, -4), ''].map(
    (sealed) =>
      requestRow(`an envelope that is not ours, in Messages: ${sealed}`, answered())`
    messages < [{role:"assistant",content:[{type:"thinking",thinking:"Hm.",signature:"${sealed}"},
      ${json.textB}]},${json.claudeC}] | lost messages.thinking
    messages < [{role:"assistant",content:[{type:"redacted_thinking",data:"${sealed}"},
      ${json.textB}]},${json.claudeC}] | lost messages.thinking
  `,
  ),
  requestRow('reasoning that Anthropic signed', answered(thought('Hm.', anthropic)))`
    chat < [{role:"assistant",content:"B",reasoning_content:"Hm.",reasoning_details:
      [{type:"reasoning.text",text:"Hm.",signature:"c2ln",format:"anthropic-claude-v1"}]},
      ${json.userC}]
    chat > [{role:"assistant",content:"B"},${json.userC}] | lost at
    chat > [{role:"assistant",content:"B",reasoning_details:[{type:"reasoning.text",text:"Hm.",
      signature:"c2ln",format:"anthropic-claude-v1"}]},${json.userC}] | to {signatures:true}
    responses < [{type:"reasoning",summary:[{type:"summary_text",text:"Cut"}],
      encrypted_content:"${signedText}"},{role:"assistant",content:"B"},${json.userC}]
    responses < [{type:"reasoning",summary:[],encrypted_content:"${signedText}"},{role:"assistant",
      content:"B"},${json.userC}]
    responses < [{type:"reasoning",encrypted_content:"${signedText}"},{role:"assistant",
      content:"B"},${json.userC}]
    responses < [{type:"reasoning",summary:[{type:"summary_text",text:"a"}],content:null,
      encrypted_content:"${signedText}"},{role:"assistant",content:"B"},${json.userC}]
    responses < [{type:"reasoning",summary:[{type:"summary_text",text:"Hm."}],
      encrypted_content:"${sealOfAnthropic}"},{role:"assistant",content:"B"},${json.userC}]
    messages < [{role:"assistant",content:[{type:"thinking",thinking:"Hm.",signature:"${signed}"},
      ${json.textB}]},${json.claudeC}]
    messages < [{role:"assistant",content:[{type:"thinking",thinking:"",signature:"${signedText}"},
      ${json.textB}]},${json.claudeC}]
    messages < [{role:"assistant",content:[{type:"thinking",thinking:"Hm.",
      signature:"${sealOfAnthropic}"},${json.textB}]},${json.claudeC}]
    messages < [{role:"assistant",content:[{type:"thinking",thinking:"Hm.",
      signature:"Z3cxOmFudGhyb3BpYzpzaWduYXR1cmU6YzJsbg=="},${json.textB}]},${json.claudeC}]
    messages > [{role:"assistant",content:[{type:"thinking",thinking:"Hm.",signature:"c2ln"},
      ${json.textB}]},${json.claudeC}]
    gemini < [{role:"model",parts:[{text:"Hm.",thought:true,thoughtSignature:"${sealOfAnthropic}"},
      {text:"B"}]},${json.geminiC}]
    gemini > [{role:"model",parts:[{text:"B"}]},${json.geminiC}] | lost at
  `,
  requestRow(
    'reasoning in pieces, the last of which is signed',
    answered(thought('So '), thought('it is', anthropic)),
  )`
    chat > [{role:"assistant",content:"B",reasoning_details:[{type:"reasoning.text",text:"So it is",
      signature:"c2ln",format:"anthropic-claude-v1"}]},${json.userC}] | to {signatures:true}
  `,
  requestRow('a signature without text', answered(thought('', anthropic)))`
    responses < [{type:"reasoning",summary:[{type:"summary_text",text:"x"}],
      encrypted_content:"${signedEmpty}"},{role:"assistant",content:"B"},${json.userC}]
    messages > [{role:"assistant",content:[{type:"thinking",thinking:"",signature:"c2ln"},
      ${json.textB}]},${json.claudeC}]
    gemini < [{role:"model",parts:[{text:"",thought:true,thoughtSignature:"${sealOfAnthropic}"},
      {text:"B"}]},${json.geminiC}]
  `,
  requestRow('encrypted reasoning', answered(thought('', hidden)))`
    chat < [{role:"assistant",content:"B",reasoning_details:[{type:"reasoning.encrypted",
      data:"aGlk",format:"anthropic-claude-v1"}]},${json.userC}]
    chat > [{role:"assistant",content:"B",reasoning_details:[{type:"reasoning.encrypted",
      data:"aGlk",format:"anthropic-claude-v1"}]},${json.userC}] | to {signatures:true}
    responses < [{type:"reasoning",encrypted_content:"${sealedHidden}"},{role:"assistant",
      content:"B"},${json.userC}]
    messages < [{role:"assistant",content:[{type:"redacted_thinking",data:"${sealedHidden}"},
      ${json.textB}]},${json.claudeC}]
    messages > [{role:"assistant",content:[{type:"redacted_thinking",data:"aGlk"},${json.textB}]},
      ${json.claudeC}]
  `,
  requestRow('plain and encrypted reasoning', answered(thought('Hm.'), thought('', hidden)))`
    chat < [{role:"assistant",content:"B",reasoning_content:"Hm.",reasoning_details:
      [{type:"reasoning.encrypted",data:"aGlk",format:"anthropic-claude-v1"}]},${json.userC}]
  `,
  requestRow(
    'encrypted reasoning that a caller made up',
    answered(thought('', signedBy('openai', '"}],"model":"x"', 'encrypted'))),
  )`
    chat > [{role:"assistant",content:"B"},${json.userC}]
  `,
  requestRow('reasoning that Google signed', answered(thought('Hm.', google)))`
    chat > [{role:"assistant",content:"B"},${json.userC}] | lost at
    messages > [{role:"assistant",content:[${json.textB}]},${json.claudeC}] | lost at
    gemini <> [{role:"model",parts:[{text:"Hm.",thought:true,thoughtSignature:"c2ln"},{text:"B"}]},
      ${json.geminiC}]
  `,
  requestRow('a text that Google signed', after(assistant(text('B', google)), user(text('C'))))`
    chat < [{role:"assistant",content:"B",${json.sign}},${json.userC}]
    chat > [{role:"assistant",content:"B"},${json.userC}]
    responses < [{role:"assistant",content:"B"},{type:"reasoning",encrypted_content:"${ofText}"},
      ${json.userC}]
    messages < [{role:"assistant",content:[${json.textB},{type:"thinking",thinking:"",
      signature:"${ofText}"}]},${json.claudeC}]
    messages > [{role:"assistant",content:[${json.textB}]},${json.claudeC}]
    gemini <> [{role:"model",parts:[{text:"B",thoughtSignature:"c2ln"}]},${json.geminiC}]
  `,
  requestRow(
    'a text that another provider signed',
    after(assistant(text('B', anthropic)), user(text('C'))),
  )`
    gemini > [{role:"model",parts:[{text:"B"}]},${json.geminiC}]
  `,
  requestRow('a signature of Google alone', after(assistant(text('', google)), user(text('C'))))`
    gemini < [{role:"model",parts:[{thoughtSignature:"c2ln"}]},${json.geminiC}]
  `,
  requestRow('a call that Google signed', called(google))`
    chat < [{role:"assistant",content:null,tool_calls:[{id:"a",type:"function",function:{name:"f",
      arguments:"{}"},${json.sign}}]},${json.chatResult}]
    chat < [{role:"assistant",content:null,tool_calls:[${json.chatCallA}],${json.sign}},
      ${json.chatResult}]
    chat < [{role:"assistant",content:null,tool_calls:[{id:"a",type:"function",function:{name:"f",
      arguments:"{}",thought_signature:"c2ln"}}]},${json.chatResult}]
    chat < [{role:"assistant",content:null,tool_calls:[{id:"a__thought__c2ln",type:"function",
      function:{name:"f",arguments:"{}"}}]},{role:"tool",tool_call_id:"a__thought__c2ln",
      content:"A"}]
    chat > [${json.chatCall},${json.chatResult}]
    chat > [{role:"assistant",content:null,tool_calls:[{id:"a",type:"function",function:{name:"f",
      arguments:"{}"},${json.sign}}]},${json.chatResult}] | to {signatures:true}
    responses < [{type:"reasoning",encrypted_content:"${ofCallA}"},${json.item},${json.output}]
    messages < [{role:"assistant",content:[{type:"thinking",thinking:"",signature:"${ofCallA}"},
      ${json.claudeCallA}]},{role:"user",content:[${json.claudeResult}]}]
    messages > [${json.claudeCall},{role:"user",content:[${json.claudeResult}]}]
    gemini <> [{role:"model",parts:[{${json.geminiCallA},thoughtSignature:"c2ln"}]},{role:"user",
      parts:[${json.geminiResult}]}]
  `,
  requestRow(
    'two steps of calls, the first of which Google signed',
    after(
      assistant(call('a', 'f', '{}', google), call('b', 'f')),
      user(result('a', 'A'), result('b', 'B')),
      assistant(call('c', 'f'), call('d', 'f')),
      user(result('c', 'C'), result('d', 'D')),
    ),
  )`
    gemini > [{role:"model",parts:[{${json.geminiCallA},thoughtSignature:"c2ln"},{functionCall:
      {id:"b",name:"f",args:{}}}]},{role:"user",parts:[${json.geminiResult},{functionResponse:
      {id:"b",name:"f",response:{output:"B"}}}]},{role:"model",parts:[{functionCall:{id:"c",
      name:"f",args:{}},thoughtSignature:"${placeholder}"},{functionCall:{id:"d",name:"f",args:
      {}}}]},{role:"user",parts:[{functionResponse:{id:"c",name:"f",response:{output:"C"}}},
      {functionResponse:{id:"d",name:"f",response:{output:"D"}}}]}]
    gemini > [{role:"model",parts:[{${json.geminiCallA},thoughtSignature:"c2ln"},{functionCall:
      {id:"b",name:"f",args:{}}}]},{role:"user",parts:[${json.geminiResult},{functionResponse:
      {id:"b",name:"f",response:{output:"B"}}}]},{role:"model",parts:[{functionCall:{id:"c",
      name:"f",args:{}}},{functionCall:{id:"d",name:"f",args:{}}}]},{role:"user",parts:
      [{functionResponse:{id:"c",name:"f",response:{output:"C"}}},{functionResponse:{id:"d",
      name:"f",response:{output:"D"}}}]}] | to "gemini-2.5-flash"
  `,
];
