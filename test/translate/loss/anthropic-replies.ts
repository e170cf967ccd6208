/** Generates random Anthropic replies with every member that such a reply may have. */
import type { Drawing, Tree } from './tree.ts';

/** A whole reply with leaves. */
export function anthropicReply(d: Drawing): Tree {
  const isRefused = d.once(8);
  return d.object({
    id: d.text(),
    type: 'message',
    role: 'assistant',
    model: d.text(),
    content: [text(d), ...d.some(0, 5, (index) => block(d, index))],
    stop_reason: isRefused
      ? 'refusal'
      : d.one<Tree>(d.word('end_turn', 'max_tokens'), d.word('pause_turn', 'max_tokens')),
    stop_sequence: d.maybe(8, () => d.text()),
    stop_details: isRefused
      ? d.object({ type: 'refusal', explanation: d.text(), category: d.maybe(2, () => d.text()) })
      : null,
    usage: d.object({
      input_tokens: d.number(100),
      output_tokens: d.number(40),
      cache_read_input_tokens: d.maybe(3, () => d.number(20)),
      cache_creation_input_tokens: d.maybe(3, () => d.number(20)),
      service_tier: d.maybe(6, () => d.text()),
    }),
    container: d.maybe(8, () => ({ id: d.text(), expires_at: d.text() })),
    context_management: d.maybe(8, () => ({ applied_edits: [{ type: d.text() }] })),
  });
}

function text(d: Drawing): Tree {
  return d.object({
    type: 'text',
    text: d.text(),
    citations: d.maybe(3, () => d.some(1, 2, () => citation(d))),
  });
}

function citation(d: Drawing): Tree {
  return d.one<() => Tree>(
    () =>
      d.object({
        type: 'web_search_result_location',
        url: d.text(),
        title: d.text(),
        cited_text: d.text(),
        encrypted_index: d.text(),
      }),
    () => d.object({ type: 'char_location', cited_text: d.text(), document_index: d.number(2) }),
    () => d.object({ type: `kind_${d.below(100)}`, other: d.text() }),
  )();
}

function block(d: Drawing, index: number): Tree {
  return d.one<() => Tree>(
    () => text(d),
    () => d.object({ type: 'thinking', thinking: d.text(), signature: d.name('sig') }),
    () => d.object({ type: 'redacted_thinking', data: d.name('hidden') }),
    () =>
      d.object({
        type: 'tool_use',
        id: d.word(`toolu_${index}`, `toolu_${index}_other`),
        name: d.text(),
        input: d.data(),
        caller: d.maybe(3, () => ({ type: d.text(), tool_id: d.text() })),
      }),
    () => d.object({ type: 'server_tool_use', id: d.text(), name: d.text(), input: d.data() }),
    () =>
      d.object({
        type: 'web_search_tool_result',
        tool_use_id: d.text(),
        content: [{ type: 'web_search_result', url: d.text() }],
      }),
    () => d.object({ type: `kind_${d.below(100)}`, text: d.text(), deep: { list: [d.text()] } }),
  )();
}
