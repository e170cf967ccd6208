/** System texts, earlier turns, calls and their results, reasoning and its signatures. */

import type { Turn } from '../../../src/canonical/request.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { json } from './fragments.ts';
import { bytes, call, remote, result, text } from './parts.ts';
import type { RequestRow } from './request-rows.ts';
import { placeholder } from './seals.ts';
import { requestRow } from './wire-text.ts';

/** Turns after the question. */
export const after = (...turns: readonly Turn[]) => ({ turns: [user(text('Hi')), ...turns] });

const one = { turns: [user(text('Hi')), assistant(call('a', 'f')), user(result('a', 'A'))] };

const two = after(
  assistant(text('Both.'), call('a', 'f'), call('b', 'g')),
  user(result('a', 'A'), result('b', 'B', { name: 'g' })),
  user(text('And?')),
);
const resultWith = (parts: Parameters<typeof result>[1], more: object = {}) =>
  after(assistant(call('a', 'f')), user(result('a', parts, more)));
const mixed = resultWith([text('See: '), bytes('image/png')]);

/** Calls and their results. */
export const calls: readonly RequestRow[] = [
  requestRow('a call and its result', one)`
    chat <> [${json.chatCall},${json.chatResult}]
    chat < [{role:"assistant",content:"",tool_calls:[${json.chatCallA}]},{role:"tool",
      tool_call_id:"a",content:[{type:"text",text:"A"}]}]
    responses < [${json.item},${json.output}]
    responses < [{role:"assistant",content:""},${json.item},${json.output}]
    responses < [{type:"function_call",call_id:"a",name:"f",arguments:"{}",id:"fc_1",
      status:"completed",async:false,caller:{type:"direct"},parsed_arguments:{a:1}},
      {type:"function_call_output",call_id:"a",output:"A",id:"fco_1",status:"completed",name:"f"}]
    messages <> [${json.claudeCall},{role:"user",content:[${json.claudeResult}]}]
    messages < [{role:"assistant",content:[{type:"tool_use",id:"a",name:"f",input:{},caller:
      {type:"direct"}}]},{role:"user",content:[{type:"tool_result",tool_use_id:"a",content:"A"}]}]
    messages < [{role:"assistant",content:[{type:"tool_use",id:"a",name:"f",input:{},caller:
      {type:"code",tool_id:"s"}}]},{role:"user",content:[${json.claudeResult}]}]
      | lost messages.content.caller.type, messages.content.caller.tool_id
    gemini <> [${json.geminiCall},{role:"user",parts:[${json.geminiResult}]}]
    gemini < [${json.geminiCall},{role:"function",parts:[${json.geminiResult}]}]
    gemini < [${json.geminiCall},{role:"model",parts:[{functionResponse:{id:"a",name:"f",response:
      {result:"A"}}}]}]
    gemini < [${json.geminiCall},{role:"model",parts:[{functionResponse:{id:"a",name:"f",response:
      {content:"A"}}}]}]
    gemini < [${json.geminiCall},{role:"model",parts:[{functionResponse:{id:"a",name:"f",response:
      {return_value:"A"}}}]}]
    gemini > [{role:"model",parts:[{functionCall:{name:"f",args:{}},
      thoughtSignature:"${placeholder}"}]},{role:"user",parts:[{functionResponse:{name:"f",response:
      {output:"A"}}}]}] | to {callIds:false}
    gemini > [${json.geminiCall},{role:"user",parts:[${json.geminiResult}]}] | to "gemini-2.5-flash"
  `,
  requestRow(
    'a call of a custom tool',
    after(assistant(call('a', 'f', JSON.stringify({ input: 'x\n' }))), user(result('a', 'A'))),
  )`
    responses < [{type:"custom_tool_call",call_id:"a",name:"f",input:"x\n"},
      {type:"custom_tool_call_output",call_id:"a",output:"A"}]
  `,
  requestRow(
    'a call without an id',
    after(assistant(call('call_t1p0', 'f')), user(result('call_t1p0', 'A'))),
  )`
    gemini < [{role:"model",parts:[{functionCall:{name:"f",args:null}}]},{role:"user",parts:
      [{functionResponse:{name:"f",response:{output:"A"}}}]}]
  `,
  requestRow('two calls with a text, and their results', two)`
    chat <> [{role:"assistant",content:"Both.",tool_calls:[${json.chatCallA},${json.chatCallB}]},
      ${json.chatResult},{role:"tool",tool_call_id:"b",content:"B"},{role:"user",content:"And?"}]
    responses < [{role:"assistant",content:"Both."},${json.item},{type:"function_call",call_id:"b",
      name:"g",arguments:"{}"},${json.output},{type:"function_call_output",call_id:"b",output:"B"},
      {role:"user",content:"And?"}]
    responses < [{role:"assistant",content:"Both."},${json.item},{type:"function_call",call_id:"b",
      name:"g",arguments:"{}"},{role:"user",content:"And?"},{type:"function_call_output",
      call_id:"b",output:"B"},${json.output}]
    messages <> [{role:"assistant",content:[{type:"text",text:"Both."},${json.claudeCallA},
      ${json.claudeCallB}]},{role:"user",content:[${json.claudeResult},${json.claudeResultB},
      {type:"text",text:"And?"}]}]
    messages < [{role:"assistant",content:[{type:"text",text:"Both."},${json.claudeCallA}]},
      {role:"assistant",content:[${json.claudeCallB}]},{role:"user",content:
      [${json.claudeResultB}]},{role:"user",content:[{type:"text",text:"And?"},
      ${json.claudeResult}]}]
    gemini <> [{role:"model",parts:[{text:"Both."},{${json.geminiCallA}},{functionCall:{id:"b",
      name:"g",args:{}}}]},{role:"user",parts:[${json.geminiResult},{functionResponse:{id:"b",
      name:"g",response:{output:"B"}}}]},{role:"user",parts:[{text:"And?"}]}]
  `,
  requestRow(
    'results in another order, among what the user says',
    after(
      assistant(call('a', 'f'), call('b', 'g')),
      user(text('Wait'), result('b', 'B', { name: 'g' })),
      user(result('a', [text('A'), text('2')]), text('And?')),
    ),
  )`
    chat > [{role:"assistant",content:null,tool_calls:[${json.chatCallA},${json.chatCallB}]},
      {role:"tool",tool_call_id:"b",content:"B"},{role:"tool",tool_call_id:"a",content:"A2"},
      {role:"user",content:"Wait"},{role:"user",content:"And?"}]
    messages > [{role:"assistant",content:[${json.claudeCallA},${json.claudeCallB}]},{role:"user",
      content:[{type:"tool_result",tool_use_id:"a",content:[{type:"text",text:"A"},{type:"text",
      text:"2"}]},${json.claudeResultB},{type:"text",text:"Wait"},{type:"text",text:"And?"}]}]
    gemini > [{role:"model",parts:[{${json.geminiCallA}},{functionCall:{id:"b",name:"g",args:{}}}]},
      {role:"user",parts:[{functionResponse:{id:"a",name:"f",response:{output:"A2"}}},
      {functionResponse:{id:"b",name:"g",response:{output:"B"}}}]},{role:"user",parts:
      [{text:"Wait"},{text:"And?"}]}]
  `,
  requestRow(
    'arguments with spaces and a number of 20 digits',
    after(assistant(call('a', 'f', '{"n": 12345678901234567890}')), user(result('a', 'A'))),
  )`
    chat <> [{role:"assistant",content:null,tool_calls:[{id:"a",type:"function",function:{name:"f",
      arguments:"{\"n\": 12345678901234567890}"}}]},${json.chatResult}]
    responses < [{type:"function_call",call_id:"a",name:"f",
      arguments:"{\"n\": 12345678901234567890}"},${json.output}]
    messages > [{role:"assistant",content:[{type:"tool_use",id:"a",name:"f",input:
      {n:12345678901234567890}}]},{role:"user",content:[${json.claudeResult}]}]
    gemini > [{role:"model",parts:[{functionCall:{id:"a",name:"f",args:{n:12345678901234567890}}}]},
      {role:"user",parts:[${json.geminiResult}]}]
  `,
  requestRow('a result without a call', after(user(result('x', '?', { name: undefined }))))`
    chat < [{role:"tool",tool_call_id:"x",content:"?"}]
    responses < [{type:"function_call_output",call_id:"x",output:"?"}]
      | read ${after(user(text('[tool result unknown]: ?')))} | lost input[1]
    messages < [{role:"user",content:[{type:"tool_result",tool_use_id:"x",content:[{type:"text",
      text:"?"}]}]}] | read ${after(user(text('[tool result unknown]: ?')))}
      | lost messages[1].content[0]
  `,
  requestRow(
    'calls without ids',
    after(
      assistant(text('Now.'), call('call_t1p1', 'f'), call('call_t1p2', 'g')),
      user(result('call_t1p1', '1'), result('call_t1p2', '2', { name: 'g' })),
    ),
  )`
    chat < [{role:"assistant",content:"Now.",tool_calls:[{id:"",type:"function",function:{name:"f",
      arguments:"{}"}},{id:"",type:"function",function:{name:"g",arguments:"{}"}}]},{role:"tool",
      tool_call_id:"",content:"1"},{role:"tool",tool_call_id:"",content:"2"}]
  `,
  requestRow(
    'the older form of a call',
    after(assistant(call('call_t1p0', 'f')), user(result('call_t1p0', 'A'))),
  )`
    chat < [{role:"assistant",content:null,function_call:{name:"f",arguments:"{}"}},
      {role:"function",name:"f",content:"A"}]
  `,
  requestRow(
    'one id on two calls',
    after(
      ...[assistant(call('a:1', 'f')), user(result('a:1', 'A'))],
      ...[assistant(call('a:1', 'f')), user(result('a:1', 'B'))],
    ),
  )`
    messages > [{role:"assistant",content:[{type:"tool_use",id:"~^[\\w-]+$",name:"f",input:{}}]},
      {role:"user",content:[{type:"tool_result",tool_use_id:"~.",content:[{type:"text",
      text:"A"}]}]},{role:"assistant",content:[{type:"tool_use",id:"~^[\\w-]+$",name:"f",input:
      {}}]},{role:"user",content:[{type:"tool_result",tool_use_id:"~.",content:[${json.textB}]}]}]
  `,
  requestRow(
    'arguments that are no object',
    after(assistant(call('a', 'f', '[1')), user(result('a', 'A'))),
  )`
    chat <> [{role:"assistant",content:null,tool_calls:[{id:"a",type:"function",function:{name:"f",
      arguments:"[1"}}]},${json.chatResult}]
    gemini > [{role:"model",parts:[{functionCall:{id:"a",name:"f",args:{_raw:"[1"}}}]},{role:"user",
      parts:[${json.geminiResult}]}] | lost at
  `,
  requestRow(
    'ids that no upstream accepts',
    after(
      assistant(call('a.b', 'f'), call('x'.repeat(65), 'f')),
      user(result('a.b', 'A'), result('x'.repeat(65), 'B')),
    ),
  )`
    chat > [{role:"assistant",content:null,tool_calls:[{id:"~^[\\w-]{1,40}$",type:"function",
      function:{name:"f",arguments:"{}"}},{id:"~^[\\w-]{1,40}$",type:"function",function:{name:"f",
      arguments:"{}"}}]},{role:"tool",tool_call_id:"~^[\\w-]{1,40}$",content:"A"},{role:"tool",
      tool_call_id:"~^[\\w-]{1,40}$",content:"B"}]
    messages > [{role:"assistant",content:[{type:"tool_use",id:"~^[\\w-]{1,64}$",name:"f",input:{}},
      {type:"tool_use",id:"~^[\\w-]{1,64}$",name:"f",input:{}}]},{role:"user",content:
      [{type:"tool_result",tool_use_id:"~^[\\w-]{1,64}$",content:[{type:"text",text:"A"}]},
      {type:"tool_result",tool_use_id:"~^[\\w-]{1,64}$",content:[${json.textB}]}]}]
  `,
  requestRow('a result that failed', resultWith('No.', { isError: true }))`
    chat > [${json.chatCall},{role:"tool",tool_call_id:"a",content:"{\"error\":\"No.\"}"}]
    messages <> [${json.claudeCall},{role:"user",content:[{type:"tool_result",tool_use_id:"a",
      content:[{type:"text",text:"No."}],is_error:true}]}]
    gemini <> [${json.geminiCall},{role:"user",parts:[{functionResponse:{id:"a",name:"f",response:
      {error:"No."}}}]}]
  `,
  requestRow('an empty result', resultWith([]))`
    messages < [${json.claudeCall},{role:"user",content:[{type:"tool_result",tool_use_id:"a",
      content:[]}]}]
    messages < [${json.claudeCall},{role:"user",content:[{type:"tool_result",tool_use_id:"a",
      content:null}]}]
    messages < [${json.claudeCall},{role:"user",content:[{type:"tool_result",tool_use_id:"a"}]}]
  `,
  requestRow('a reference to a tool as the result', resultWith('Tool find is available.\n'))`
    messages < [${json.claudeCall},{role:"user",content:[{type:"tool_result",tool_use_id:"a",
      content:[{type:"tool_reference",tool_name:"find"}]}]}]
      | lost messages[2].content[0].content[0]
  `,
  requestRow('a text and an image in a result', mixed)`
    chat > [${json.chatCall},{role:"tool",tool_call_id:"a",content:"See: [see attached image]"},
      {role:"user",content:[{type:"image_url",image_url:
      {url:"data:image/png;base64,iVBORw0KGgo="}}]}]
    chat > [${json.chatCall},{role:"tool",tool_call_id:"a",content:[{type:"text",text:"See: "},
      {type:"image_url",image_url:{url:"data:image/png;base64,iVBORw0KGgo="}}]}]
      | to {resultMedia:true}
    responses < [${json.item},{type:"function_call_output",call_id:"a",output:[{type:"input_text",
      text:"See: "},{type:"input_image",image_url:"data:image/png;base64,iVBORw0KGgo="}]}]
    messages <> [${json.claudeCall},{role:"user",content:[{type:"tool_result",tool_use_id:"a",
      content:[{type:"text",text:"See: "},${json.png}]}]}]
  `,
  requestRow('an image in a result', resultWith([bytes('image/png')]))`
    gemini > [${json.geminiCall},{role:"user",parts:[{functionResponse:{id:"a",name:"f",response:
      {output:"[see attached media]"},parts:[{inlineData:{mimeType:"image/png",
      data:"iVBORw0KGgo="}}]}}]}]
    gemini > [${json.geminiCall},{role:"user",parts:[{functionResponse:{id:"a",name:"f",response:
      {output:"[see attached media]"}}},{inlineData:{mimeType:"image/png",data:"iVBORw0KGgo="}}]}]
      | to "gemini-2.5-flash"
  `,
  requestRow(
    'a document in a result',
    resultWith([remote('https://a.test/a.pdf', 'application/pdf')]),
  )`
    responses < [${json.item},{type:"function_call_output",call_id:"a",output:[{type:"input_file",
      file_url:"https://a.test/a.pdf"}]}]
  `,
  ...(
    [
      ['>', '', '{"output":""}'],
      ['>', '[1, 2]', '{"output":[1,2]}'],
      ['>', '17', '{"output":17}'],
      ['>', '"a"', '{"output":"\\"a\\""}'],
      ['<>', '{"a":1}'],
      ['<', '{"output":1}'],
      ['<', '{"output":"a","more":1}'],
      ['<>', '{"constructor":"a"}'],
      ['<', '{"error":"no","output":"a"}'],
      ['<>', '{}'],
    ] as const
  ).map(
    ([way, output, response = output]) =>
      requestRow(`the result ${output}`, resultWith(output))`
    gemini ${way} [${json.geminiCall},{role:"user",parts:[{functionResponse:{id:"a",name:"f",
      response:${response}}}]}]
  `,
  ),
  requestRow('an error that is an object', resultWith('{"code":5}', { isError: true }))`
    gemini < [${json.geminiCall},{role:"user",parts:[{functionResponse:{id:"a",name:"f",response:
      {error:{code:5}}}}]}]
  `,
  requestRow('a call of the user', { turns: [user(call('a', 'f'))] })`
    chat > {} | refused not_portable at
  `,
  requestRow('a result of the model', { turns: [assistant(result('a', 'A'))] })`
    chat > {} | refused not_portable at
  `,
];
