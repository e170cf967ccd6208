/** Generates random chat requests with every member that such a request may have. */
import type { Drawing, Tree } from './tree.ts';
import { Leaf } from './tree.ts';

/** A request with leaves. */
export function chatRequest(d: Drawing): Tree {
  const tools = d.maybe(2, () => d.some(1, 3, (index) => tool(d, index)));
  return d.object({
    model: 'm',
    messages: conversation(d),
    tools,
    tool_choice: tools && d.maybe(3, () => choice(d)),
    ...settings(d),
  });
}

function settings(d: Drawing): Readonly<Record<string, Tree>> {
  return {
    max_completion_tokens: d.maybe(4, () => d.number(2_048)),
    max_tokens: d.maybe(6, () => d.number(4_096)),
    temperature: d.maybe(5, () => d.number(0.5)),
    top_p: d.maybe(5, () => d.number(0.5)),
    top_k: d.maybe(8, () => d.number(40)),
    presence_penalty: d.maybe(8, () => d.number(0.5)),
    frequency_penalty: d.maybe(8, () => d.number(0.25)),
    seed: d.maybe(8, () => d.number(42)),
    stop: d.maybe(5, () =>
      d.one<Tree>(d.text(), [d.text(), d.text()], [d.text(), new Leaf('', 'x', 'effect')]),
    ),
    n: d.maybe(12, () => new Leaf(2, 3, 'effect')),
    logprobs: d.maybe(10, () => d.word(true, false)),
    reasoning_effort: d.maybe(4, () => d.word('high', 'low')),
    response_format: d.maybe(4, () => format(d)),
    parallel_tool_calls: d.maybe(8, () => d.word(false, true)),
    modalities: d.maybe(20, () => [d.word('text', 'audio')]),
    audio: d.maybe(20, () => d.object({ voice: d.text(), format: d.word('wav', 'mp3') })),
    user: d.maybe(8, () => d.text()),
    safety_identifier: d.maybe(10, () => d.text()),
    service_tier: d.maybe(10, () => 'flex'),
    store: d.maybe(12, () => d.word(true, false)),
    metadata: d.maybe(12, () => ({ label: d.text() })),
    logit_bias: d.maybe(12, () => ({ '50256': d.number(-100) })),
    verbosity: d.maybe(12, () => d.word('low', 'high')),
    prediction: d.maybe(12, () => ({ type: 'content', content: d.text() })),
    prompt_cache_key: d.maybe(12, () => d.text()),
    stream_options: d.maybe(12, () => d.object({ include_usage: true })),
    safety_settings: d.maybe(16, () => [{ category: d.text(), threshold: d.text() }]),
    extra_body: d.maybe(12, () =>
      d.object({
        google: d.object({
          safety_settings: d.maybe(3, () => [{ category: d.text(), threshold: d.text() }]),
          thinking_config: d.maybe(3, () => ({ include_thoughts: d.word(true, false) })),
        }),
      }),
    ),
  };
}

function format(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => d.object({ type: 'json_object' }),
    () =>
      d.object({
        type: 'json_schema',
        json_schema: d.object({
          name: 'answer',
          description: d.maybe(2, () => d.text()),
          schema: schema(d),
          strict: d.maybe(2, () => d.word(true, false)),
        }),
      }),
  )();
}

/** A typical schema of a caller, sometimes with alternatives at its root. */
export function schema(d: Drawing): Tree {
  const properties = { a: property(d), b: property(d) };
  const plain = { type: 'object', properties, required: ['a', 'b'], additionalProperties: false };
  return d.one<() => Tree>(
    () => plain,
    () => plain,
    () => ({ type: 'object', properties, description: d.text(), required: [d.word('a', 'b')] }),
    () => ({
      type: 'object',
      properties,
      anyOf: [{ required: [d.word('a', 'b')] }, { required: ['b'] }],
    }),
    () => ({
      oneOf: [
        {
          type: 'object',
          properties: { kind: { const: d.text() }, r: property(d) },
          required: ['kind', d.word('r', 'kind')],
        },
        {
          type: 'object',
          properties: { kind: { const: d.text() }, s: property(d) },
          required: ['kind', 's'],
        },
      ],
    }),
    () => ({ type: d.word('array', 'object'), items: { type: 'string', description: d.text() } }),
    () => ({ type: 'object', additionalProperties: { type: d.word('string', 'number') } }),
    () => ({ $ref: '#/$defs/it', $defs: { it: plain } }),
    () => ({ allOf: [plain, { type: 'object', properties: { c: property(d) } }] }),
    () => ({ type: 'object', patternProperties: { '^x': { description: d.text() } } }),
  )();
}

function property(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => ({ type: 'string', description: d.text() }),
    () => ({ type: 'integer', minimum: d.number(4), maximum: d.number(400) }),
    () => ({ type: 'string', enum: [d.text(), d.text()] }),
    () => ({ type: 'array', items: { type: 'string', description: d.text() } }),
    () => ({ anyOf: [{ type: 'string', description: d.text() }, { type: 'null' }] }),
    () => ({ type: 'object', properties: { deep: { type: 'boolean', description: d.text() } } }),
    () => ({ type: 'string', format: d.word('date-time', 'email') }),
    () => ({ type: 'string', default: d.text() }),
  )();
}

const toolNames = ['look', 'find', 'send'] as const;

function tool(d: Drawing, index: number): Tree {
  if (d.once(16)) {
    return { type: 'custom', custom: { name: d.name('own'), description: d.text() } };
  }
  return d.object({
    type: 'function',
    function: d.object({
      name: toolNames[index],
      description: d.maybe(2, () => d.text()),
      parameters: d.maybe(2, () => schema(d)) ?? undefined,
      strict: d.maybe(3, () => d.word(true, false)),
    }),
    cache_control: d.maybe(10, () => ({ type: d.word('ephemeral', 'other') })),
  });
}

function choice(d: Drawing): Tree {
  return d.one<Tree>(
    d.word('auto', 'required'),
    d.word('required', 'none'),
    { type: 'function', function: d.object({ name: 'look' }) },
    d.object({
      type: 'allowed_tools',
      allowed_tools: d.object({
        mode: d.word('auto', 'required'),
        tools: toolNames.map((name) => ({ type: 'function', function: { name } })),
      }),
    }),
  );
}

function conversation(d: Drawing): Tree {
  const head = d.some(0, 2, () => instruction(d));
  let calls = 0;
  const steps = d.some(1, 4, (): readonly Tree[] => {
    const requests = d.once(6) ? [instruction(d), user(d)] : [user(d)];
    if (d.once(3)) return requests;
    const rounds = d.some(1, 2, (): readonly Tree[] => {
      const made = d.below(3);
      const ids = Array.from({ length: made }, () => {
        calls += 1;
        return `call_${calls}`;
      });
      const messages =
        d.once(4) && made > 1 ? ids.map((id) => assistant(d, [id])) : [assistant(d, ids)];
      const results = ids.map((id) => result(d, id));
      return [...messages, ...(d.once(3) ? results.toReversed() : results)];
    });
    return [...requests, ...rounds.flat()];
  });
  return [...head, ...steps.flat(), user(d)];
}

function instruction(d: Drawing): Tree {
  return d.object({
    role: d.one('system', 'developer'),
    content: d.one<Tree>(d.text(), [text(d), text(d)]),
    name: d.maybe(12, () => d.text()),
  });
}

function user(d: Drawing): Tree {
  return d.object({
    role: 'user',
    content: d.one<() => Tree>(
      () => d.text(),
      () => d.some(1, 3, () => part(d)),
    )(),
    name: d.maybe(12, () => d.text()),
    tool_calls: d.maybe(40, () => [call(d, 'call_x')]),
  });
}

function text(d: Drawing): Tree {
  return d.object({
    type: 'text',
    text: d.text(),
    cache_control: d.maybe(12, () => ({ type: d.word('ephemeral', 'other') })),
    image_url: d.maybe(30, () => ({ url: d.text() })),
  });
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ';

function bytes(d: Drawing): Leaf {
  const tail = Buffer.from(`bytes of file ${d.below(100_000)}`).toString('base64');
  return new Leaf(tail, Buffer.from('other bytes').toString('base64'), 'effect');
}

function part(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => text(d),
    () => text(d),
    () =>
      d.object({
        type: 'image_url',
        image_url: d.object({
          url: new Leaf(
            `data:image/png;base64,${png}AAAA`,
            `data:image/png;base64,${png}BBBB`,
            'effect',
          ),
          detail: d.maybe(3, () => d.word('low', 'high')),
        }),
      }),
    () =>
      d.object({
        type: 'image_url',
        image_url: d.object({
          url: new Leaf(
            `https://img.test/${d.below(10_000)}.png`,
            'https://img.test/o.png',
            'effect',
          ),
        }),
      }),
    () =>
      d.object({
        type: 'input_audio',
        input_audio: d.object({ data: bytes(d), format: d.word('wav', 'mp3') }),
      }),
    () =>
      d.object({
        type: 'file',
        file: d.object({
          file_data: new Leaf(
            `data:application/pdf;base64,JVBERi0x${d.below(10_000)}`.padEnd(44, 'A'),
            'data:application/pdf;base64,JVBERi0xBBBB',
            'effect',
          ),
          filename: d.maybe(2, () => d.name('report.pdf')),
        }),
      }),
    () =>
      d.once(4)
        ? d.object({ type: `kind_${d.below(100)}`, text: d.text(), other: d.text() })
        : text(d),
  )();
}

function assistant(d: Drawing, ids: readonly string[]): Tree {
  const isSilent = ids.length > 0 && d.once(2);
  return d.object({
    role: 'assistant',
    content: isSilent
      ? null
      : d.one<() => Tree>(
          () => d.text(),
          () => [text(d), text(d)],
        )(),
    refusal: d.maybe(16, () => d.text()),
    name: d.maybe(16, () => d.text()),
    reasoning_content: d.maybe(6, () => d.text()),
    reasoning_details: d.maybe(6, () => details(d)),
    tool_calls: ids.length === 0 ? undefined : ids.map((id) => call(d, id)),
    annotations: d.maybe(12, () => [
      { type: 'url_citation', url_citation: { url: d.text(), title: d.text() } },
    ]),
    audio: d.maybe(16, () => ({ id: d.text() })),
    extra_content: d.maybe(6, () => extra(d)),
  });
}

function details(d: Drawing): Tree {
  return [
    d.object({
      type: 'reasoning.text',
      text: d.text(),
      signature: d.text(),
      format: 'anthropic-claude-v1',
    }),
    ...d.some(0, 1, () =>
      d.object({ type: 'reasoning.encrypted', data: d.text(), format: 'anthropic-claude-v1' }),
    ),
    ...d.some(0, 1, () =>
      d.object({ type: 'reasoning.summary', summary: d.text(), format: 'openai-responses-v1' }),
    ),
  ];
}

function extra(d: Drawing): Tree {
  return d.object({
    google: d.maybe(2, () =>
      d.object({
        thought_signature: d.maybe(2, () => 'of-gemini'),
        grounding_metadata: d.maybe(2, () => ({ webSearchQueries: [d.text()] })),
        parts: d.maybe(2, () => [
          { toolCall: { toolType: d.text() } },
          { fileData: { fileUri: d.text() } },
        ]),
      }),
    ),
    anthropic: d.maybe(2, () =>
      d.object({
        blocks: [
          { type: 'server_tool_use', id: d.text(), name: d.text(), input: { query: d.text() } },
          { type: 'web_search_tool_result', tool_use_id: d.text(), content: [{ url: d.text() }] },
          { type: `new_kind${d.below(10)}`, text: d.text() },
        ],
        citations: d.maybe(2, () => [{ cited_text: d.text() }]),
      }),
    ),
  });
}

function call(d: Drawing, id: string): Tree {
  return d.object({
    id,
    type: 'function',
    function: d.object({
      name: d.one(...toolNames),
      arguments: new Leaf(`{"city":"town${d.below(100_000)}"}`, '{"city":"elsewhere"}', 'effect'),
    }),
    extra_content: d.maybe(6, () =>
      d.object({ google: d.object({ thought_signature: 'of-gemini' }) }),
    ),
  });
}

function result(d: Drawing, id: string): Tree {
  return d.object({
    role: 'tool',
    tool_call_id: id,
    content: d.one<() => Tree>(
      () => d.text(),
      () => [text(d), text(d)],
      () => new Leaf(`{"error":"no${d.below(100_000)}"}`, '{"error":"other"}', 'effect'),
    )(),
  });
}
