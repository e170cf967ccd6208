/** Texts, reasoning, calls and other contents of replies. */

import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { json } from './fragments.ts';
import { calls, ends, refuses, says, signedBy, thinks } from './parts.ts';
import { got, type ReplyRow } from './reply-rows.ts';
import {
  ofCall,
  ofText,
  sealedHidden,
  sealOfAnthropic,
  sealOfHidden,
  signed,
  unsigned,
  unsignedText,
} from './seals.ts';
import { replyRow } from './wire-text.ts';

const stop = ends('stop');
const hi = (...more: readonly ContentEvent[]) => [...more, says('Yes.'), stop];
const anthropic = signedBy('anthropic', 'c2ln');
const hidden = signedBy('anthropic', 'aGlk', 'encrypted');
const google = signedBy('gemini', 'c2ln');
const called = [...calls('f', '{"a":1}'), ends('tool_calls')];

/** Texts. */
export const texts: readonly ReplyRow[] = [
  replyRow('a text', [says('Hello there\n '), stop])`
    chat <> {message:{content:"Hello there\n "},finish_reason:"stop"}
    chat < {choices:[{message:{content:"Hello there\n "},finish_reason:"stop"}]}
    responses > {output:["message: Hello there\n "]}
    messages <> {content:[{type:"text",text:"Hello there\n "}],stop_reason:"end_turn"}
    gemini <> {parts:[{text:"Hello there\n "}],finishReason:"STOP"}
  `,
  replyRow('a text in pieces', [says('a\n'), says(''), says(' b😀'), stop])`
    chat > {message:{content:"a\n b😀"},finish_reason:"stop"}
    responses > {output:["message: a\n b😀"]}
    messages > {content:[{type:"text",text:"a\n b😀"}],stop_reason:"end_turn"}
    gemini > {parts:[{text:"a\n b😀"}],finishReason:"STOP"}
  `,
  replyRow('the id and the model of the upstream', [
    { type: 'start', id: 'abc', model: 'up' },
    says('a'),
    stop,
  ])`
    chat > {message:{content:"a"},finish_reason:"stop"} | top {id:"chatcmpl-abc"}
    gemini > {parts:[{text:"a"}],finishReason:"STOP"} | top {modelVersion:"up",responseId:"abc"}
  `,
  replyRow('no events', [])`
    chat > {message:{},finish_reason:"stop"}
  `,
  replyRow('nothing', [stop])`
    chat > {message:{},finish_reason:"stop"}
    responses > {output:["message: "]}
    messages <> {content:[],stop_reason:"end_turn"}
    gemini > {parts:[{text:""}],finishReason:"STOP"}
  `,
  replyRow('a text whose end the upstream does not state', [says('a')])`
    chat > {message:{content:"a"},finish_reason:"stop"}
    responses > {output:["message: a"]}
    messages > {content:[{type:"text",text:"a"}],stop_reason:"end_turn"}
    gemini > {parts:[{text:"a"}],finishReason:"OTHER"}
  `,
  replyRow('a refusal', [
    refuses('I won’t.'),
    ends('content_filter', { native: 'stop', message: 'I won’t.' }),
  ])`
    chat < {message:{refusal:"I won’t."},finish_reason:"stop"} | whole
    chat > {message:{refusal:"I won’t."},finish_reason:"content_filter",native_finish_reason:"stop"}
    responses > {output:["message: I won’t."]}
    messages > {content:[{type:"text",text:"I won’t."}],stop_reason:"refusal",stop_details:
      {type:"refusal",category:null,explanation:"I won’t."}}
    gemini > {parts:[{text:"I won’t."}],finishReason:"SAFETY",finishMessage:"I won’t."}
  `,
  replyRow('a refusal after a text', [says('a'), refuses('No'), refuses('.'), stop])`
    chat > {message:{content:"a",refusal:"No."},finish_reason:"stop"}
    responses > {output:["message: a","message: No."]}
    messages > {content:[{type:"text",text:"a"},{type:"text",text:"No."}],stop_reason:"refusal",
      stop_details:{type:"refusal",category:null,explanation:"No."}}
    gemini > {parts:[{text:"aNo."}],finishReason:"SAFETY",finishMessage:"No."}
  `,
  replyRow('a refusal that the limit cut', [refuses('I can'), ends('length')])`
    chat <> {message:{refusal:"I can"},finish_reason:"length"}
    responses > {output:["message: I can"],status:"incomplete",why:"max_output_tokens"}
    messages > {content:[{type:"text",text:"I can"}],stop_reason:"max_tokens"}
  `,
  replyRow('two choices', [
    says('a'),
    { type: 'text', choice: 1, text: 'b' },
    stop,
    ends('length', { choice: 1 }),
  ])`
    chat <> {choices:[{index:0,message:{role:"assistant",content:"a",refusal:null},logprobs:null,
      finish_reason:"stop"},{index:1,message:{role:"assistant",content:"b",refusal:null},
      logprobs:null,finish_reason:"length"}]}
    responses > {output:["message: a"]}
    gemini <> {candidates:[{index:0,content:{role:"model",parts:[{text:"a"}]},finishReason:"STOP"},
      {index:1,content:{role:"model",parts:[{text:"b"}]},finishReason:"MAX_TOKENS"}]}
  `,
];

/** Reasoning and signatures. */
export const reasoning: readonly ReplyRow[] = [
  replyRow('reasoning that nobody signed', hi(thinks('Hm.')))`
    chat <> {message:{reasoning_content:"Hm.",content:"Yes."},finish_reason:"stop"}
    chat < {message:{reasoning:"Hm.",content:"Yes."},finish_reason:"stop"}
    chat < {message:{content:[{type:"thinking",thinking:[{type:"text",text:"Hm."}]},${json.yes}]},
      finish_reason:"stop"}
    responses > {output:["message: Yes."]}
    responses > {output:["reasoning: Hm.","message: Yes."]} | asks {reasoning:{summary:"auto"}}
    responses > {output:["reasoning:  +thinking:","message: Yes."]} | head {needsReasoningBack:true}
    messages > {content:[{type:"thinking",thinking:"Hm.",signature:"${unsigned}"},${json.yes}],
      stop_reason:"end_turn"} | asks {thinking:{type:"adaptive",display:"summarized"}}
    messages > {content:[{type:"thinking",thinking:"",signature:"${unsigned}"},${json.yes}],
      stop_reason:"end_turn"} | asks {thinking:{type:"adaptive",display:"omitted"}}
    messages > {content:[{type:"thinking",thinking:"",signature:"${unsignedText}"},${json.yes}],
      stop_reason:"end_turn"} | asks {thinking:{type:"adaptive",display:"omitted"}}
      | head {needsReasoningBack:true}
    messages > {content:[{type:"thinking",thinking:"Hm.",signature:"${unsigned}"},${json.yes}],
      stop_reason:"end_turn"} | asks {thinking:{type:"adaptive",display:"summarized"}}
      | head {needsReasoningBack:true}
    messages > {content:[${json.yes}],stop_reason:"end_turn"}
    gemini <> {parts:[{text:"Hm.",thought:true},{text:"Yes."}],finishReason:"STOP"}
  `,
  replyRow('reasoning that Anthropic signed', hi(thinks('Hm.'), thinks('', anthropic)))`
    chat > {message:{content:"Yes.",reasoning_content:"Hm.",reasoning_details:
      [{type:"reasoning.text",text:"Hm.",signature:"c2ln",format:"anthropic-claude-v1"}]},
      finish_reason:"stop"}
    responses > {output:["reasoning:  +thinking:c2ln","message: Yes."]}
    responses > {output:["reasoning: Hm. +thinking:c2ln","message: Yes."]} | asks {reasoning:
      {summary:"auto"}}
    messages < {content:[{type:"thinking",thinking:"Hm.",signature:"c2ln"},${json.yes}],
      stop_reason:"end_turn"}
    messages > {content:[{type:"thinking",thinking:"Hm.",signature:"${signed}"},${json.yes}],
      stop_reason:"end_turn"} | asks {thinking:{type:"adaptive",display:"summarized"}}
    gemini > {parts:[{text:"Hm.",thought:true,thoughtSignature:"${sealOfAnthropic}"},{text:"Yes."}],
      finishReason:"STOP"}
  `,
  replyRow('a signature without text', hi(thinks('', anthropic)))`
    responses > {output:["reasoning:  +thinking:c2ln","message: Yes."]}
    messages < {content:[{type:"thinking",thinking:"",signature:"c2ln"},${json.yes}],
      stop_reason:"end_turn"}
  `,
  replyRow('encrypted reasoning', hi(thinks('', hidden)))`
    chat <> {message:{content:"Yes.",reasoning_details:[{type:"reasoning.encrypted",data:"aGlk",
      format:"anthropic-claude-v1"}]},finish_reason:"stop"}
    responses > {output:["reasoning:  +redacted:aGlk","message: Yes."]}
    messages < {content:[{type:"redacted_thinking",data:"aGlk"},${json.yes}],stop_reason:"end_turn"}
    messages > {content:[{type:"redacted_thinking",data:"${sealedHidden}"},${json.yes}],
      stop_reason:"end_turn"} | asks {thinking:{type:"adaptive",display:"summarized"}}
    gemini > {parts:[{text:"",thought:true,thoughtSignature:"${sealOfHidden}"},{text:"Yes."}],
      finishReason:"STOP"}
  `,
  replyRow('plain and encrypted reasoning', hi(thinks('Plain.'), thinks('', hidden)))`
    responses > {output:["reasoning:  +redacted:aGlk","message: Yes."]}
    responses > {output:["reasoning: Plain.","reasoning:  +redacted:aGlk","message: Yes."]}
      | asks {reasoning:{summary:"auto"}}
  `,
  replyRow('reasoning alone', [thinks('Hm.'), thinks('', anthropic), stop])`
    responses > {output:["reasoning: Hm. +thinking:c2ln","message: "]} | asks {reasoning:
      {summary:"auto"}}
  `,
  replyRow('reasoning between calls', [
    ...[thinks('A'), thinks('', anthropic), ...calls('f', '{}')],
    ...[thinks('B'), thinks('', anthropic), ends('tool_calls')],
  ])`
    responses > {output:["reasoning:  +thinking:c2ln","function_call f: {}",
      "reasoning:  +thinking:c2ln"]}
    responses > {output:["reasoning: A +thinking:c2ln","function_call f: {}",
      "reasoning: B +thinking:c2ln"]} | asks {reasoning:{summary:"auto"}}
  `,
  replyRow('a text that Google signed', [says('One.', google), says('Two.'), stop])`
    chat > {message:{content:"One.Two.",${json.sign}},finish_reason:"stop"}
    responses > {output:["message: One.","reasoning:  +text:c2ln","message: Two."]}
    messages > {content:[{type:"text",text:"One."},{type:"thinking",thinking:"",
      signature:"${ofText}"},{type:"text",text:"Two."}],stop_reason:"end_turn"} | asks {thinking:
      {type:"adaptive",display:"summarized"}}
    messages > {content:[{type:"text",text:"One.Two."}],stop_reason:"end_turn"} | whole
    gemini <> {parts:[{text:"One.",thoughtSignature:"c2ln"},{text:"Two."}],finishReason:"STOP"}
  `,
  replyRow('a call that Google signed', [
    thinks('Hm.'),
    ...calls('f', '{"a":1}', 0, google),
    ends('tool_calls'),
  ])`
    chat <> {message:{reasoning_content:"Hm.",content:null,tool_calls:[{id:"c0",type:"function",
      function:{name:"f",arguments:"{\"a\":1}"},${json.sign}}]},finish_reason:"tool_calls"}
    responses > {output:["reasoning:  +call:c2ln","function_call f: {\"a\":1}"]}
    responses > {output:["reasoning: Hm. +call:c2ln","function_call f: {\"a\":1}"]}
      | asks {reasoning:{summary:"auto"}}
    messages > {content:[{type:"thinking",thinking:"Hm.",signature:"${unsigned}"},{type:"thinking",
      thinking:"",signature:"${ofCall}"},{type:"tool_use",id:"c0",name:"f",input:{a:1}}],
      stop_reason:"tool_use"} | asks {thinking:{type:"adaptive",display:"summarized"}}
    messages > {content:[{type:"thinking",thinking:"",signature:"${ofCall}"},{type:"tool_use",
      id:"c0",name:"f",input:{a:1}}],stop_reason:"tool_use"}
    messages > {content:[{type:"thinking",thinking:"",signature:"${unsignedText}"},{type:"thinking",
      thinking:"",signature:"${ofCall}"},{type:"tool_use",id:"c0",name:"f",input:{a:1}}],
      stop_reason:"tool_use"} | head {needsReasoningBack:true}
    gemini <> {parts:[{text:"Hm.",thought:true},{functionCall:{id:"c0",name:"f",args:{a:1}},
      thoughtSignature:"c2ln"}],finishReason:"STOP"}
  `,
  replyRow('a call that another provider signed', [
    ...calls('f', '{}', 0, anthropic),
    ends('tool_calls'),
  ])`
    chat > {message:{content:null,tool_calls:[{id:"c0",type:"function",function:{name:"f",
      arguments:"{}"}}]},finish_reason:"tool_calls"}
  `,
];

/** Calls. */
export const callReplies: readonly ReplyRow[] = [
  replyRow('a call', called)`
    chat <> {message:{content:null,tool_calls:[{id:"c0",type:"function",function:{name:"f",
      arguments:"{\"a\":1}"}}]},finish_reason:"tool_calls"}
    chat < {message:{tool_calls:[{id:"c0",type:"function",function:{name:"f",
      arguments:"{\"a\":1}"}}]},finish_reason:""}
    chat < {message:{tool_calls:[{id:"c0",function:{name:"f",arguments:{a:1}}}]},finish_reason:null}
      | whole
    responses > {output:["function_call f: {\"a\":1}"]}
    responses > {output:["function_call clock.f: {\"a\":1}"]} | asks {tools:[{type:"namespace",
      name:"clock",tools:[{type:"function",name:"f"}]}]}
    messages <> {content:[{type:"tool_use",id:"c0",name:"f",input:{a:1}}],stop_reason:"tool_use"}
    gemini <> {parts:[{functionCall:{id:"c0",name:"f",args:{a:1}}}],finishReason:"STOP"}
  `,
  replyRow('the older form of a call', [
    { ...{ type: 'tool_begin', choice: 0, call: 0, name: 'f', arguments: '{}' }, id: 'call_' },
    ...[{ type: 'tool_end', choice: 0, call: 0 } as const, ends('tool_calls')],
  ])`
    chat < {message:{function_call:{name:"f",arguments:"{}"}},finish_reason:"function_call"} | whole
  `,
  replyRow('two calls after a text, one of them without arguments', [
    says('Both.'),
    ...calls('f', '{"a":1}'),
    ...calls('g', '', 1),
    ends('tool_calls'),
  ])`
    chat > {message:{content:"Both.",tool_calls:[{id:"c0",type:"function",function:{name:"f",
      arguments:"{\"a\":1}"}},{id:"c1",type:"function",function:{name:"g",arguments:"{}"}}]},
      finish_reason:"tool_calls"}
    responses > {output:["message: Both.","function_call f: {\"a\":1}","function_call g: {}"]}
    messages > {content:[{type:"text",text:"Both."},{type:"tool_use",id:"c0",name:"f",input:{a:1}},
      {type:"tool_use",id:"c1",name:"g",input:{}}],stop_reason:"tool_use"}
    gemini > {parts:[{text:"Both."},{functionCall:{id:"c0",name:"f",args:{a:1}}},{functionCall:
      {id:"c1",name:"g",args:{}}}],finishReason:"STOP"}
    gemini < {parts:[{text:"Both."},{functionCall:{id:"c0",name:"f",args:{a:1}}},{functionCall:
      {id:"c1",name:"g"}}],finishReason:"STOP"}
  `,
  replyRow('two calls with one id', [
    ...calls('f', '{}'),
    { ...{ type: 'tool_begin', choice: 0, call: 1, name: 'f', arguments: '{}' }, id: 'call_' },
    { type: 'tool_end', choice: 0, call: 1 },
    ends('tool_calls'),
  ])`
    chat < {message:{content:null,tool_calls:[{id:"c0",type:"function",function:{name:"f",
      arguments:"{}"}},{id:"c0",type:"function",function:{name:"f",arguments:"{}"}}]},
      finish_reason:"tool_calls"}
    chat < {message:{content:null,tool_calls:[{id:"c0",type:"function",function:{name:"f",
      arguments:"{}"}},{id:"",type:"function",function:{name:"f",arguments:"{}"}}]},
      finish_reason:"tool_calls"}
    messages < {content:[{type:"tool_use",id:"c0",name:"f",input:{}},{type:"tool_use",id:"c0",
      name:"f",input:{}}],stop_reason:"tool_use"} | whole
    messages < {content:[{type:"tool_use",id:"c0",name:"f",input:{}},{type:"tool_use",id:"",
      name:"f",input:{}}],stop_reason:"tool_use"} | whole
    gemini < {parts:[{functionCall:{id:"c0",name:"f",args:{}}},{functionCall:{id:"c0",name:"f",args:
      {}}}],finishReason:"STOP"}
    gemini < {parts:[{functionCall:{id:"c0",name:"f",args:{}}},{functionCall:{name:"f",args:{}}}],
      finishReason:"STOP"}
  `,
  replyRow('arguments that are no object', [
    ...calls('f', '[1]'),
    ...calls('g', 'Paris', 1),
    ends('tool_calls'),
  ])`
    responses > {output:["function_call f: [1]","function_call g: Paris"]}
    messages > {content:[{type:"tool_use",id:"c0",name:"f",input:{_raw:"[1]"}},{type:"tool_use",
      id:"c1",name:"g",input:{_raw:"Paris"}}],stop_reason:"tool_use"} | lost tool_use.input
    gemini > {parts:[{functionCall:{id:"c0",name:"f",args:{_raw:"[1]"}}},{functionCall:{id:"c1",
      name:"g",args:{_raw:"Paris"}}}],finishReason:"STOP"} | lost tool_calls.arguments
  `,
  replyRow('arguments with a number of 20 digits', [
    ...calls('f', '{"n":12345678901234567890}'),
    ends('tool_calls'),
  ])`
    chat <> {message:{content:null,tool_calls:[{id:"c0",type:"function",function:{name:"f",
      arguments:"{\"n\":12345678901234567890}"}}]},finish_reason:"tool_calls"}
    responses > {output:["function_call f: {\"n\":12345678901234567890}"]}
    messages > {content:[{type:"tool_use",id:"c0",name:"f",input:{n:12345678901234567890}}],
      stop_reason:"tool_use"}
    gemini > {parts:[{functionCall:{id:"c0",name:"f",args:{n:12345678901234567890}}}],
      finishReason:"STOP"}
  `,
  replyRow('a call of a custom tool', [...calls('patch', '{"input":"a\\nb"}'), ends('tool_calls')])`
    responses > {output:["custom_tool_call patch: a\nb"]} | asks {tools:[{type:"custom",
      name:"patch"}]}
  `,
  ...['plain text', '{"input":1}'].map(
    (json): ReplyRow => ({
      is: `a call of a custom tool with ${json}`,
      events: [...calls('patch', json), ends('tool_calls')],
      responses: got(
        { output: [`custom_tool_call patch: ${json}`] },
        { asks: { tools: [{ type: 'custom', name: 'patch' }] } },
      ),
    }),
  ),
  replyRow('an id that not all providers accept', [
    { ...{ type: 'tool_begin', choice: 0, call: 0, name: 'f', arguments: '{}' }, id: 'f.f:0' },
    { type: 'tool_end', choice: 0, call: 0 },
    ends('tool_calls'),
  ])`
    messages > {content:[{type:"tool_use",id:"~^[a-zA-Z0-9_-]{1,64}$",name:"f",input:{}}],
      stop_reason:"tool_use"}
  `,
];
