/** Draws chat completions of an upstream that hold whatever such a reply may hold. */
import type { Drawing, Tree } from './tree.ts';

/** A whole reply with leaves. */
export function openaiReply(d: Drawing): Tree {
  return d.object({
    id: d.text(),
    object: 'chat.completion',
    created: d.number(1_700_000_000),
    model: d.text(),
    system_fingerprint: d.maybe(4, () => d.text()),
    service_tier: d.maybe(4, () => d.text()),
    choices: d.some(1, 2, (index) => choice(d, index)),
    usage: d.object({
      prompt_tokens: d.number(100),
      completion_tokens: d.number(40),
      prompt_tokens_details: d.maybe(3, () => d.object({ cached_tokens: d.number(20) })),
      completion_tokens_details: d.maybe(3, () => d.object({ reasoning_tokens: d.number(20) })),
      queue_time: d.maybe(8, () => d.number(0.5)),
    }),
  });
}

function choice(d: Drawing, index: number): Tree {
  const isRefused = d.once(8);
  return d.object({
    index,
    message: message(d, index, isRefused),
    finish_reason: isRefused ? 'stop' : d.one<Tree>('stop', d.word('length', 'stop')),
    logprobs: d.maybe(5, () => logprobs(d)),
    content_filter_results: d.maybe(10, () => ({ hate: { severity: d.text() } })),
  });
}

function logprobs(d: Drawing): Tree {
  const token = () => ({ token: d.text(), logprob: d.number(-0.5) });
  return d.object({
    content: d.some(1, 2, () =>
      d.object({ ...token(), bytes: null, top_logprobs: d.some(0, 2, () => d.object(token())) }),
    ),
    refusal: d.maybe(6, () => [token()]),
  });
}

function message(d: Drawing, index: number, isRefused: boolean): Tree {
  const isList = !isRefused && d.once(4);
  return d.object({
    role: 'assistant',
    content: isList ? [textPart(d), ...d.some(0, 3, () => part(d))] : d.text(),
    refusal: isRefused ? d.text() : null,
    ...(isList ? {} : thoughts(d)),
    images: d.maybe(6, () => d.some(1, 2, () => image(d))),
    audio: d.maybe(8, () => sound(d)),
    annotations: d.maybe(5, () => d.some(1, 2, () => annotation(d))),
    tool_calls: d.maybe(2, () => d.some(1, 2, (at) => call(d, `call_${index}_${at}`))),
  });
}

function thoughts(d: Drawing): Readonly<Record<string, Tree>> {
  return d.one<() => Readonly<Record<string, Tree>>>(
    () => ({}),
    () => ({ reasoning_content: d.text() }),
    () => ({ reasoning: d.text() }),
    () => ({ reasoning_details: d.some(1, 2, () => detail(d)) }),
  )();
}

function detail(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => d.object({ type: 'reasoning.text', text: d.text() }),
    () => d.object({ type: 'reasoning.summary', summary: d.text() }),
    () =>
      d.object({
        type: 'reasoning.text',
        text: d.text(),
        signature: d.name('sig'),
        format: 'anthropic-claude-v1',
      }),
    () =>
      d.object({
        type: 'reasoning.encrypted',
        data: d.name('hidden'),
        format: 'openai-responses-v1',
      }),
  )();
}

function textPart(d: Drawing): Tree {
  return d.object({ type: 'text', text: d.text() });
}

function part(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => textPart(d),
    () => d.object({ type: 'thinking', thinking: [d.object({ type: 'text', text: d.text() })] }),
    () => image(d),
    () => d.object({ type: `kind_${d.below(100)}`, other: d.text(), deep: { list: [d.text()] } }),
  )();
}

function image(d: Drawing): Tree {
  const bytes = (): string => Buffer.from(`image ${d.below(100_000)}`).toString('base64');
  const url = d.once(2)
    ? d.word(`data:image/png;base64,${bytes()}`, `data:image/png;base64,${bytes()}Ab==`)
    : d.word(`https://img.test/${d.below(1_000)}.png`, 'https://img.test/other.png');
  return d.object({ type: 'image_url', image_url: d.object({ url }) });
}

function sound(d: Drawing): Tree {
  const beginning = d.one('RIFF....WAVE', 'OggS', 'bare samples');
  const bytes = Buffer.from(`${beginning} ${d.below(100_000)}`).toString('base64');
  return d.object({
    id: d.text(),
    data: d.word(bytes, Buffer.from('others').toString('base64')),
    transcript: d.text(),
    expires_at: d.number(1_700_000_000),
  });
}

function annotation(d: Drawing): Tree {
  if (d.once(4)) return { type: 'file_citation', file_citation: { file_id: d.text() } };
  const place = { start_index: d.number(4), end_index: d.number(8) };
  return d.object({
    type: 'url_citation',
    url_citation: d.object({ url: d.text(), title: d.text(), ...(d.once(2) ? place : {}) }),
  });
}

function call(d: Drawing, id: string): Tree {
  const args = d.word(`{"city":"town${d.below(100_000)}"}`, '{"city":"elsewhere"}');
  return d.object({
    id: d.word(id, `${id}_other`),
    type: 'function',
    function: d.object({ name: d.word('look', 'find'), arguments: args }),
    extra_content: d.maybe(6, () =>
      d.object({ google: d.object({ thought_signature: d.name('sig') }) }),
    ),
  });
}
