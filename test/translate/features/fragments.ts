/** Texts that stand in many rows: schemas, and a call of `f` or of `f` and `g` on each wire. */

const open = '{"type":"object","properties":{"a":{"type":"string"}}}';
const closed = `${open.slice(0, -1)},"required":["a"],"additionalProperties":false}`;
const none = '{"type":"object","properties":{}}';
const chatTool = (name: string) =>
  `{"type":"function","function":{"name":"${name}","parameters":${none},"strict":false}}`;
const claudeTool = (name: string) => `{"name":"${name}","input_schema":${none}}`;
const named = (name: string) => `{"type":"function","function":{"name":"${name}"}}`;
const fn = (id: string, name: string) =>
  `{"id":"${id}","type":"function","function":{"name":"${name}","arguments":"{}"}}`;
const use = (id: string, name: string) =>
  `{"type":"tool_use","id":"${id}","name":"${name}","input":{}}`;
const run = (id: string, name: string) =>
  `"functionCall":{"id":"${id}","name":"${name}","args":{}}`;
const textBlock = (text: string) => `{"type":"text","text":"${text}"}`;

/** Parts of JSON by what they are. */
export const json = {
  open,
  closed,
  none,
  hi: '{"role":"user","content":"Hi"}',
  /** Declarations of `f` and `g`: as chat and Messages upstreams get them, and as callers send. */
  chatTools: `"tools":[${chatTool('f')},${chatTool('g')}]`,
  chatTool: `"tools":[${chatTool('f')}]`,
  claudeTools: `"tools":[${claudeTool('f')},${claudeTool('g')}]`,
  claudeTool: `"tools":[${claudeTool('f')}]`,
  geminiTools: '"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]}]',
  geminiTool: '"tools":[{"functionDeclarations":[{"name":"f"}]}]',
  sentToChat: `"tools":[${named('f')},${named('g')}]`,
  sentToResponses: '"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}]',
  f: named('f'),
  g: named('g'),
  /** A call `a` of `f` and its result, and a call `b` of `g`. */
  chatCall: `{"role":"assistant","content":null,"tool_calls":[${fn('a', 'f')}]}`,
  chatCallA: fn('a', 'f'),
  chatCallB: fn('b', 'g'),
  chatResult: '{"role":"tool","tool_call_id":"a","content":"A"}',
  item: '{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}',
  output: '{"type":"function_call_output","call_id":"a","output":"A"}',
  claudeCall: `{"role":"assistant","content":[${use('a', 'f')}]}`,
  claudeCallA: use('a', 'f'),
  claudeCallB: use('b', 'g'),
  claudeResult: `{"type":"tool_result","tool_use_id":"a","content":[${textBlock('A')}]}`,
  claudeResultB: `{"type":"tool_result","tool_use_id":"b","content":[${textBlock('B')}]}`,
  geminiCall: `{"role":"model","parts":[{${run('a', 'f')}}]}`,
  geminiCallA: run('a', 'f'),
  geminiResult: '{"functionResponse":{"id":"a","name":"f","response":{"output":"A"}}}',
  /** Anthropic needs declarations for calls in the history. */
  declared: `"tools":[${claudeTool('f')}],"tool_choice":{"type":"none"}`,
  declaredBoth: `"tools":[${claudeTool('f')},${claudeTool('g')}],"tool_choice":{"type":"none"}`,
  /** Later turns of both sides. */
  userC: '{"role":"user","content":"C"}',
  userE: '{"role":"user","content":"e"}',
  claudeC: `{"role":"user","content":[${textBlock('C')}]}`,
  geminiC: '{"role":"user","parts":[{"text":"C"}]}',
  textB: textBlock('B'),
  yes: textBlock('Yes.'),
  png: '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}',
  sign: '"extra_content":{"google":{"thought_signature":"c2ln"}}',
};
