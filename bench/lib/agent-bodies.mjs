/** Bodies of about 40 KB as coding agents send them: tools with schemas, calls and their results. */

const toolNames = [
  ...['read_file', 'write_file', 'bash', 'grep', 'glob', 'edit', 'search', 'fetch'],
  ...['todo', 'task', 'plan', 'notebook', 'list', 'kill', 'diff'],
];
const turns = 14;

/** Words and line breaks, as in prose and code; the same in every run. */
function prose(length) {
  const words = 'the function returns a value of this module, see test and error in line at'.split(
    ' ',
  );
  let text = '';
  for (let at = 0; text.length < length; at += 1) {
    text += words[(at * 7) % words.length] + (at % 16 === 15 ? '\n' : ' ');
  }
  return text;
}

function schema(tool) {
  const property = (at) => ({
    type: at % 2 === 0 ? 'integer' : 'string',
    description: prose(40),
    ...(at === 3 ? { enum: ['a', 'b', 'c'] } : {}),
  });
  const properties = [0, 1, 2, 3].map((at) => [`${tool}_${at}`, property(at)]);
  const required = [`${tool}_0`];
  return {
    ...{ type: 'object', properties: Object.fromEntries(properties) },
    ...{ required, additionalProperties: false },
  };
}

const path = (turn) => JSON.stringify({ path: `/src/${turn}.ts`, pattern: prose(30) });
const sealed = `EqQB${'abcdEFGH0123'.repeat(20)}`;
const each = (make) => Array.from({ length: turns }, (_, turn) => make(turn)).flat();

function chat() {
  const call = (id, turn) => ({
    ...{ id, type: 'function' },
    function: { name: toolNames[turn], arguments: path(turn) },
  });
  return {
    ...{ model: 'm', stream: true, stream_options: { include_usage: true } },
    ...{ max_completion_tokens: 8000, tool_choice: 'auto' },
    messages: [
      { role: 'system', content: prose(4000) },
      ...each((turn) => [
        { role: 'user', content: [{ type: 'text', text: prose(200) }] },
        {
          ...{ role: 'assistant', content: prose(150) },
          tool_calls: [call(`a${turn}`, turn), call(`b${turn}`, turn)],
        },
        { role: 'tool', tool_call_id: `a${turn}`, content: prose(900) },
        { role: 'tool', tool_call_id: `b${turn}`, content: prose(400) },
      ]),
    ],
    tools: toolNames.map((name) => ({
      type: 'function',
      function: { name, description: prose(150), parameters: schema(name) },
    })),
  };
}

function messages() {
  const result = (id, content) => ({ type: 'tool_result', tool_use_id: id, content });
  const use = (id, turn, input) => ({ type: 'tool_use', id, name: toolNames[turn], input });
  const cache_control = { type: 'ephemeral' };
  return {
    ...{ model: 'm', max_tokens: 8000, stream: true, metadata: { user_id: 'user' } },
    system: [{ type: 'text', text: prose(4000), cache_control }],
    messages: each((turn) => [
      {
        role: 'user',
        content: [
          result(`a${turn}`, [{ type: 'text', text: prose(800) }]),
          result(`b${turn}`, prose(400)),
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: prose(100), signature: sealed },
          { type: 'text', text: prose(100) },
          use(`a${turn + 1}`, turn, { path: '/src', pattern: prose(20) }),
          use(`b${turn + 1}`, turn, { command: 'ls' }),
        ],
      },
    ]),
    tools: toolNames.map((name) => ({
      ...{ name, description: prose(150) },
      input_schema: schema(name),
    })),
  };
}

function responses() {
  return {
    ...{ model: 'm', instructions: prose(4000), store: false, stream: true },
    ...{ include: ['reasoning.encrypted_content'], prompt_cache_key: 'k', tool_choice: 'auto' },
    input: each((turn) => [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: prose(100) }] },
      {
        ...{ type: 'reasoning', id: `rs_${turn}`, encrypted_content: sealed },
        summary: [{ type: 'summary_text', text: prose(100) }],
      },
      {
        ...{ type: 'message', role: 'assistant', id: `msg_${turn}`, status: 'completed' },
        content: [{ type: 'output_text', text: prose(150), annotations: [] }],
      },
      {
        ...{ type: 'function_call', id: `fc_${turn}`, call_id: `call_${turn}` },
        ...{ name: toolNames[turn], arguments: path(turn), status: 'completed' },
      },
      { type: 'function_call_output', call_id: `call_${turn}`, output: prose(1000) },
    ]),
    tools: toolNames.map((name) => ({
      ...{ type: 'function', name, description: prose(150), strict: true },
      parameters: schema(name),
    })),
  };
}

/** The bodies by the name of their API, without spaces and as pretty-printed JSON. */
export const agentBodies = Object.fromEntries(
  Object.entries({ chat, messages, responses }).flatMap(([name, make]) => [
    [name, Buffer.from(JSON.stringify(make()))],
    [`${name}, indented`, Buffer.from(JSON.stringify(make(), undefined, 2))],
  ]),
);
