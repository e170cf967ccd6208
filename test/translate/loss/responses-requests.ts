/** Generates random Responses requests with every member and item that such a request may have. */
import { schema } from './chat-requests.ts';
import type { Drawing, Tree } from './tree.ts';
import { Leaf } from './tree.ts';

/** A request with leaves. What only the gateway acts on, such as `metadata`, has none. */
export function responsesRequest(d: Drawing): Tree {
  const isPlain = d.once(3);
  const tools = d.maybe(2, () =>
    d.some(1, 4, (index) => (isPlain ? functionTool(d, toolNames[index] ?? '') : tool(d, index))),
  );
  const called = settings(d);
  const update = called.reasoning === undefined ? d.some(0, 1, () => configuration(d)) : [];
  return d.object({
    model: 'm',
    instructions: d.maybe(3, () => d.text()),
    input: d.once(12) ? d.text() : [...update, ...conversation(d)],
    tools,
    tool_choice: tools && d.maybe(3, () => choice(d, isPlain ? tools.length : 0)),
    ...called,
  });
}

/** It replaces the effort of the body, so that the request has only one of them. */
function configuration(d: Drawing): Tree {
  return d.object({
    type: 'configuration_update',
    reasoning: d.object({ effort: d.word('high', 'low') }),
  });
}

function settings(d: Drawing): Readonly<Record<string, Tree>> {
  return {
    max_output_tokens: d.maybe(4, () => d.number(2_048)),
    max_tool_calls: d.maybe(8, () => 3),
    temperature: d.maybe(5, () => d.number(0.5)),
    top_p: d.maybe(5, () => d.number(0.5)),
    top_logprobs: d.maybe(10, () => d.number(4)),
    include: d.maybe(4, () => [
      'reasoning.encrypted_content',
      d.word('message.output_text.logprobs', 'something.new'),
    ]),
    parallel_tool_calls: d.maybe(8, () => false),
    reasoning: d.maybe(4, () =>
      d.object({
        effort: d.word('high', 'low'),
        summary: d.maybe(2, () => 'auto'),
        context: d.maybe(4, () => d.word('all_turns', 'auto')),
        mode: d.maybe(4, () => d.word('pro', 'standard')),
      }),
    ),
    text: d.maybe(4, () => d.object({ format: d.maybe(2, () => format(d)) })),
    truncation: d.maybe(10, () => d.word('auto', 'disabled')),
    safety_identifier: d.maybe(8, () => d.text()),
    user: d.maybe(10, () => d.text()),
    service_tier: d.maybe(10, () => 'flex'),
    prompt_cache_options: d.maybe(12, () => d.object({ mode: d.text(), ttl: d.text() })),
    prompt_cache_retention: d.maybe(12, () => d.text()),
    context_management: d.maybe(12, () => [d.object({ type: d.text() })]),
    access_programs: d.maybe(12, () => ({ cyber: d.text() })),
    image: d.maybe(12, () => ({ context_compression: d.text() })),
    moderation: d.maybe(30, () => ({ model: d.text() })),
    previous_response_id: d.maybe(30, () => d.text()),
    background: d.maybe(20, () => d.word(true, false)),
    seed: d.maybe(12, () => d.number(42)),
    store: d.maybe(3, () => false),
    metadata: d.maybe(6, () => ({ team: 'a' })),
    client_metadata: d.maybe(6, () => ({ thread_id: 't' })),
    prompt_cache_key: d.maybe(6, () => 'k'),
    stream_options: d.maybe(8, () => d.object({ include_obfuscation: false })),
  };
}

function format(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => d.object({ type: 'json_object' }),
    () =>
      d.object({
        type: 'json_schema',
        name: 'answer',
        description: d.maybe(2, () => d.text()),
        schema: schema(d),
        strict: d.maybe(2, () => d.word(true, false)),
      }),
  )();
}

const toolNames = ['look', 'find', 'send', 'move'] as const;

function tool(d: Drawing, index: number): Tree {
  const name = toolNames[index] ?? 'other';
  return d.one<() => Tree>(
    () => functionTool(d, name),
    () => functionTool(d, name),
    () => functionTool(d, name),
    () => customTool(d, name),
    () =>
      d.object({
        type: 'namespace',
        name: d.name(`of_${name}`),
        description: d.maybe(2, () => d.text()),
        tools: [functionTool(d, 'begin'), customTool(d, 'end')],
      }),
    () => d.object({ type: d.word('web_search', 'file_search'), search_context_size: d.text() }),
    () => d.object({ type: 'tool_search', execution: d.word('client', 'server') }),
    () => d.object({ type: `kind_${d.below(100)}`, option: d.text() }),
  )();
}

function functionTool(d: Drawing, name: string): Tree {
  return d.object({
    type: 'function',
    name,
    description: d.maybe(2, () => d.text()),
    parameters: d.maybe(2, () => schema(d)),
    strict: d.maybe(3, () => d.word(true, false)),
    defer_loading: d.maybe(10, () => d.word(true, false)),
    allowed_callers: d.maybe(10, () => ['direct', d.word('programmatic', 'direct')]),
  });
}

function customTool(d: Drawing, name: string): Tree {
  return d.object({
    type: 'custom',
    name,
    description: d.maybe(2, () => d.text()),
    format: d.maybe(2, () => ({ type: 'grammar', syntax: 'lark', definition: d.text() })),
  });
}

/** @param named how many of the tools are plain functions; none if there are others too */
function choice(d: Drawing, named: number): Tree {
  if (named > 0 && d.once(2)) {
    return d.object({
      type: 'allowed_tools',
      mode: d.word('auto', 'required'),
      tools: [
        ...toolNames.slice(0, named).map((name) => ({ type: 'function', name })),
        { type: 'mcp', server_label: d.text() },
      ],
    });
  }
  return d.one<Tree>(
    d.word('auto', 'required'),
    d.word('required', 'none'),
    d.object({ type: 'function', name: 'look' }),
    d.object({ type: d.word('web_search', 'file_search') }),
  );
}

function conversation(d: Drawing): readonly Tree[] {
  const head = d.some(0, 2, () => (d.once(4) ? addedTools(d) : instruction(d)));
  let calls = 0;
  const steps = d.some(1, 4, (): readonly Tree[] => {
    const requests = d.once(6) ? [instruction(d), user(d)] : [user(d)];
    if (d.once(3)) return requests;
    const rounds = d.some(1, 2, (): readonly Tree[] => {
      const made = Array.from({ length: d.below(3) }, () => {
        calls += 1;
        return { id: `call_${calls}`, isCustom: d.once(4) };
      });
      const messages = d.some(0, 2, () => assistantItem(d));
      const called = made.map((one) => call(d, one));
      const results = made.map((one) => result(d, one));
      const between = d.once(6) ? [instruction(d)] : [];
      return [...messages, ...called, ...between, ...(d.once(3) ? results.toReversed() : results)];
    });
    return [...requests, ...rounds.flat(), ...d.some(0, 1, () => otherItem(d))];
  });
  return [...head, ...steps.flat(), d.object({ role: 'user', content: d.text() })];
}

function instruction(d: Drawing): Tree {
  return d.object({
    type: d.maybe(2, () => 'message'),
    role: d.one('system', 'developer'),
    content: d.one<Tree>(d.text(), [text(d), text(d)]),
  });
}

function addedTools(d: Drawing): Tree {
  return d.object({
    type: 'additional_tools',
    role: 'developer',
    tools: [functionTool(d, 'added')],
  });
}

function user(d: Drawing): Tree {
  return d.object({
    role: 'user',
    content: d.one<() => Tree>(
      () => d.text(),
      () => d.some(1, 3, () => part(d)),
    )(),
  });
}

function text(d: Drawing): Tree {
  return d.object({
    type: 'input_text',
    text: d.text(),
    prompt_cache_breakpoint: d.maybe(12, () =>
      d.object({ mode: 'explicit', ttl: d.maybe(2, () => d.word('12h', null)) }),
    ),
  });
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ';

function part(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => text(d),
    () => text(d),
    () => image(d),
    () =>
      d.object({
        type: 'input_image',
        image_url: d.word(`https://img.test/${d.below(10_000)}.png`, 'https://img.test/o.png'),
        file_id: d.maybe(12, () => d.text()),
      }),
    () => file(d),
    () =>
      d.object({ type: 'input_file', file_url: d.word('https://a.test/a.pdf', 'https://b.test/') }),
    () =>
      d.object({
        type: 'input_audio',
        input_audio: d.object({
          data: d.word('UklGRgAAAABXQVZF', 'UklGRgBBBBBXQVZF'),
          format: d.word('wav', 'mp3'),
        }),
      }),
    () => (d.once(4) ? d.object({ type: `kind_${d.below(100)}`, text: d.text() }) : text(d)),
    () => (d.once(4) ? d.object({ type: 'input_file', file_id: d.text() }) : text(d)),
  )();
}

function image(d: Drawing): Tree {
  return d.object({
    type: 'input_image',
    image_url: d.word(`data:image/png;base64,${png}AAAA`, `data:image/png;base64,${png}BBBB`),
    detail: d.maybe(3, () => d.word('low', 'high')),
  });
}

function file(d: Drawing): Tree {
  const data = `data:application/pdf;base64,JVBERi0x${d.below(10_000)}`.padEnd(44, 'A');
  return d.object({
    type: 'input_file',
    file_data: d.word(data, 'data:application/pdf;base64,JVBERi0xBBBB'),
    file_url: d.maybe(12, () => d.text()),
    filename: d.maybe(2, () => d.name('report.pdf')),
    detail: d.maybe(12, () => d.text()),
  });
}

function assistantItem(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => d.object({ type: 'message', role: 'assistant', content: d.text() }),
    () =>
      d.object({
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        phase: 'commentary',
        role: 'assistant',
        content: [
          d.object({ type: 'output_text', text: d.text(), annotations: [], logprobs: [] }),
          d.object({ type: 'refusal', refusal: d.text() }),
        ],
      }),
    () =>
      d.object({
        type: 'reasoning',
        id: 'rs_1',
        summary: [d.object({ type: 'summary_text', text: d.text() })],
      }),
    () => d.object({ type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: d.text() }),
  )();
}

function otherItem(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => d.object({ type: 'web_search_call', id: 'ws_1', action: { query: d.text() } }),
    () => d.object({ type: 'mcp_call', name: d.text(), output: d.text() }),
    () => d.object({ type: 'item_reference', id: d.text() }),
    () => d.object({ type: 'compaction', encrypted_content: d.text() }),
    () => d.object({ type: `kind_${d.below(100)}`, content: d.text() }),
    () => d.object({ type: 'tool_search_output', tools: [functionTool(d, 'found')] }),
  )();
}

interface Made {
  readonly id: string;
  readonly isCustom: boolean;
}

function call(d: Drawing, { id, isCustom }: Made): Tree {
  if (isCustom) {
    return d.object({
      type: 'custom_tool_call',
      call_id: id,
      name: d.one(...toolNames),
      input: d.text(),
    });
  }
  return d.object({
    type: 'function_call',
    id: 'fc_1',
    status: 'completed',
    call_id: id,
    name: d.one(...toolNames),
    namespace: d.maybe(6, () => d.name('space')),
    arguments: new Leaf(`{"city":"town${d.below(100_000)}"}`, '{"city":"elsewhere"}', 'effect'),
    async: d.maybe(30, () => d.word(true, false)),
  });
}

function result(d: Drawing, { id, isCustom }: Made): Tree {
  return d.object({
    type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: id,
    output: d.one<() => Tree>(
      () => d.text(),
      () => [text(d), image(d)],
      () => [text(d), file(d)],
      () => new Leaf(`{"error":"no${d.below(100_000)}"}`, '{"error":"other"}', 'effect'),
    )(),
  });
}
