/** Generates random Messages requests with every member and block that such a request may have. */
import { schema } from './chat-requests.ts';
import type { Drawing, Tree } from './tree.ts';

/** A request with leaves. */
export function messagesRequest(d: Drawing): Tree {
  const tools = d.maybe(2, () => d.some(1, 4, (index) => tool(d, index)));
  return d.object({
    model: 'm',
    max_tokens: d.number(2_048),
    system: d.maybe(3, () =>
      d.one<Tree>(
        d.text(),
        d.some(1, 3, () => text(d)),
      ),
    ),
    messages: conversation(d),
    tools,
    tool_choice: tools && d.maybe(3, () => choice(d)),
    ...settings(d),
    ...beyond(d),
  });
}

function settings(d: Drawing): Readonly<Record<string, Tree>> {
  return {
    temperature: d.maybe(5, () => d.number(0.5)),
    top_p: d.maybe(5, () => d.number(0.5)),
    top_k: d.maybe(5, () => d.number(40)),
    stop_sequences: d.maybe(5, () => d.some(0, 6, () => d.text())),
    thinking: d.maybe(3, () => thinking(d)),
    output_config: d.maybe(3, () =>
      d.object({
        effort: d.maybe(2, () => d.word('high', 'low')),
        format: d.maybe(2, () => format(d)),
        task_budget: d.maybe(6, () => d.object({ type: 'tokens', total: d.number(20_000) })),
      }),
    ),
    output_format: d.maybe(8, () => format(d)),
    metadata: d.maybe(5, () => d.object({ user_id: d.text() })),
  };
}

function thinking(d: Drawing): Tree {
  return d.one<() => Tree>(
    () =>
      d.object({
        type: 'enabled',
        // The writer of the reply acts on the display.
        budget_tokens: d.word(500, 20_000),
        display: d.maybe(3, () => d.one('summarized', 'omitted')),
      }),
    () => d.object({ type: d.word('enabled', 'disabled'), budget_tokens: 2_000 }),
    () => d.object({ type: 'adaptive', display: d.maybe(2, () => d.one('summarized', 'omitted')) }),
    () => d.object({ type: 'between_tools' }),
  )();
}

function format(d: Drawing): Tree {
  return d.object({ type: 'json_schema', schema: schema(d) });
}

/** Members that name what only Anthropic has. */
function beyond(d: Drawing): Readonly<Record<string, Tree>> {
  return {
    cache_control: d.maybe(8, () => mark(d)),
    context_management: d.maybe(8, () => ({ edits: [d.object({ type: d.text() })] })),
    compaction: d.maybe(16, () => ({ type: d.text() })),
    container: d.maybe(20, () => d.text()),
    mcp_servers: d.maybe(20, () => [{ type: 'url', url: d.text() }]),
    inference_geo: d.maybe(20, () => d.word('eu', 'us')),
    speed: d.maybe(16, () => d.word('fast', 'standard')),
    thread: d.maybe(20, () => ({ type: d.word('create', 'continue') })),
    diagnostics: d.maybe(16, () => ({ previous_message_id: d.text() })),
    fallbacks: d.maybe(16, () => [{ model: d.text() }]),
  };
}

function mark(d: Drawing): Tree {
  return d.object({ type: 'ephemeral', ttl: d.maybe(2, () => d.word('1h', '5m')) });
}

const toolNames = ['look', 'find', 'send', 'move'] as const;

function tool(d: Drawing, index: number): Tree {
  const name = toolNames[index] ?? 'other';
  return d.one<() => Tree>(
    () => custom(d, name),
    () => custom(d, name),
    () => custom(d, name),
    () => d.object({ type: 'tool_search_tool_bm25_20251119', name }),
    () => d.object({ type: d.word('web_search_20250305', 'bash_20250124'), name, max_uses: 3 }),
  )();
}

function custom(d: Drawing, name: string): Tree {
  return d.object({
    type: d.maybe(3, () => 'custom'),
    name: d.name(`${name}_`),
    description: d.maybe(2, () => d.text()),
    input_schema: schema(d),
    strict: d.maybe(3, () => d.word(true, false)),
    defer_loading: d.maybe(8, () => d.word(true, false)),
    allowed_callers: d.maybe(8, () => ['direct', d.word('code_execution_20250825', 'direct')]),
    input_examples: d.maybe(8, () => [{ a: d.text() }]),
    eager_input_streaming: d.maybe(4, () => true),
    cache_control: d.maybe(8, () => mark(d)),
  });
}

function choice(d: Drawing): Tree {
  return d.object({
    type: d.word('auto', 'any'),
    disable_parallel_tool_use: d.maybe(3, () => d.word(true, false)),
  });
}

function conversation(d: Drawing): readonly Tree[] {
  let calls = 0;
  const steps = d.some(1, 4, (): readonly Tree[] => {
    const requests = d.once(6) ? [user(d), instruction(d)] : [user(d)];
    if (d.once(3)) return requests;
    const rounds = d.some(1, 2, (): readonly Tree[] => {
      const ids = Array.from({ length: d.below(3) }, () => {
        calls += 1;
        return `toolu_${calls}`;
      });
      return [assistant(d, ids), ...(ids.length === 0 ? [] : [results(d, ids)])];
    });
    return [...requests, ...rounds.flat()];
  });
  return [...steps.flat(), d.object({ role: 'user', content: d.text() })];
}

function user(d: Drawing): Tree {
  return d.object({ role: 'user', content: d.once(4) ? d.text() : d.some(1, 3, () => part(d)) });
}

function instruction(d: Drawing): Tree {
  return d.object({
    role: 'system',
    content: d.once(2) ? d.text() : [text(d)],
    clear_at: d.maybe(4, () => d.text()),
  });
}

function assistant(d: Drawing, ids: readonly string[]): Tree {
  if (ids.length === 0 && d.once(3)) return d.object({ role: 'assistant', content: d.text() });
  return d.object({
    role: 'assistant',
    content: [
      ...d.some(0, 2, () => assistantPart(d)),
      ...ids.map((id) =>
        d.object({ type: 'tool_use', id, name: d.name('look_'), input: d.data() }),
      ),
    ],
  });
}

/** Results in any order, with words of the user around them. */
function results(d: Drawing, ids: readonly string[]): Tree {
  const written = ids.map((id) => result(d, id));
  return d.object({
    role: 'user',
    content: [
      ...d.some(0, 1, () => text(d)),
      ...(d.once(3) ? written.toReversed() : written),
      ...d.some(0, 1, () => part(d)),
    ],
  });
}

function result(d: Drawing, id: string): Tree {
  return d.object({
    type: 'tool_result',
    tool_use_id: id,
    content: d.one<() => Tree>(
      () => d.text(),
      () => d.some(0, 3, () => resultPart(d)),
    )(),
    is_error: d.maybe(4, () => d.word(true, false)),
    cache_control: d.maybe(12, () => mark(d)),
  });
}

function resultPart(d: Drawing): Tree {
  return d.once(8) ? d.object({ type: 'tool_reference', tool_name: d.text() }) : part(d);
}

function text(d: Drawing): Tree {
  return d.object({
    type: 'text',
    text: d.text(),
    cache_control: d.maybe(10, () => mark(d)),
    citations: d.maybe(16, () => [{ type: 'char_location', cited_text: d.text() }]),
  });
}

function assistantPart(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => text(d),
    () => text(d),
    () => d.object({ type: 'thinking', thinking: d.text(), signature: d.text() }),
    () => d.object({ type: 'redacted_thinking', data: d.text() }),
    () => d.object({ type: 'server_tool_use', id: 's', name: d.text(), input: {} }),
    () => d.object({ type: 'web_search_tool_result', tool_use_id: 's', content: d.text() }),
  )();
}

const images = [
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ',
  'iVBORw0KGgoAAAANSUhEUgAAAAEA',
] as const;
const documents = ['JVBERi0xLjQK', 'JVBERi0xLjcK'] as const;

function part(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => text(d),
    () => text(d),
    () => d.object({ type: 'image', source: d.object(imageSource(d)) }),
    () => document(d),
    () =>
      d.object({
        type: 'search_result',
        title: d.text(),
        source: d.text(),
        content: d.some(1, 2, () => d.object({ type: 'text', text: d.text() })),
        citations: d.maybe(4, () => ({ enabled: true })),
      }),
    () => d.object({ type: 'container_upload', file_id: d.text() }),
    () => d.object({ type: d.text(), value: d.text() }),
  )();
}

function imageSource(d: Drawing): Readonly<Record<string, Tree>> {
  return d.one<() => Readonly<Record<string, Tree>>>(
    () => ({ type: 'base64', media_type: 'image/png', data: d.word(...images) }),
    () => ({ type: 'url', url: d.word('https://img.test/a.png', 'https://img.test/b.png') }),
    () => ({ type: 'file', file_id: d.text() }),
  )();
}

function document(d: Drawing): Tree {
  return d.object({
    type: 'document',
    source: d.one<() => Tree>(
      () => d.object({ type: 'base64', media_type: 'application/pdf', data: d.word(...documents) }),
      () => d.object({ type: 'url', url: d.word('https://a.test/a.pdf', 'https://a.test/b.pdf') }),
      () => d.object({ type: 'text', media_type: 'text/plain', data: d.name('tale_') }),
      () =>
        d.object({
          type: 'content',
          content: d.one<Tree>(
            d.text(),
            d.some(1, 2, () => text(d)),
          ),
        }),
    )(),
    title: d.maybe(2, () => d.text()),
    context: d.maybe(3, () => d.text()),
    citations: d.maybe(4, () => ({ enabled: d.word(true, false) })),
    cache_control: d.maybe(12, () => mark(d)),
  });
}
