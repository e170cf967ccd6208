/**
 * Reads the content of recorded replies of OpenAI and compatible providers, independently of the
 * code under test.
 */
import type { Choice, Figures, OutputPart, Reply } from './oracle.ts';
import { argumentsOf, joined } from './pieces.ts';
import { count, isRecord, type Json, list, output, record, text, torn, without } from './tree.ts';

const extended = ['content', 'reasoning_content', 'reasoning', 'refusal'];

/** The chat completion that the chunks of a stream add up to. */
export function openaiWhole(documents: readonly Json[]): Json {
  const [first] = documents.filter((document) => text(document.id) !== '');
  const reported = documents.flatMap(({ choices }) => list(choices).map(record));
  const usage = documents.map((document) => document.usage).findLast(isRecord);
  const indexes = [...new Set(reported.map(({ index }) => count(index)))].sort((a, b) => a - b);
  return {
    ...without(record(first), 'choices', 'usage'),
    choices: indexes.map((index) =>
      wholeChoice(
        index,
        reported.filter((choice) => count(choice.index) === index),
      ),
    ),
    ...(usage === undefined ? {} : { usage }),
  };
}

function wholeChoice(index: number, reported: readonly Json[]): Json {
  const deltas = reported.map(({ delta }) => record(delta));
  const texts = extended.map((name) => [name, deltas.map((delta) => text(delta[name])).join('')]);
  const calls = deltas.flatMap((delta) => list(delta.tool_calls).map(record));
  const slots = [...new Set(calls.map((call) => count(call.index)))].sort((a, b) => a - b);
  return {
    index,
    message: {
      ...without(Object.assign({}, ...deltas), 'tool_calls'),
      ...Object.fromEntries(texts.filter(([, whole]) => whole !== '')),
      ...(slots.length === 0
        ? {}
        : { tool_calls: slots.map((slot) => wholeCall(calls.filter((c) => c.index === slot))) }),
    },
    finish_reason: reported.map((choice) => text(choice.finish_reason)).findLast(Boolean) ?? null,
  };
}

function wholeCall(pieces: readonly Json[]): Json {
  const called = pieces.map((piece) => record(piece.function));
  return {
    id: text(pieces[0]?.id),
    type: 'function',
    function: {
      name: text(called[0]?.name),
      arguments: called.map((piece) => text(piece.arguments)).join(''),
    },
  };
}

/** The chunks of a stream that adds up to the completion. */
export function openaiStream(whole: Json, draw: (below: number) => number): readonly Json[] {
  const head = without(whole, 'choices', 'usage');
  const chunk = (choices: readonly Json[], more: Json = {}): Json => ({
    ...head,
    ...more,
    choices,
  });
  const choices = list(whole.choices).map(record);
  const content = choices.flatMap((choice, position) => {
    const index = count(choice.index ?? position);
    return deltasOf(record(choice.message), draw).map((delta) =>
      chunk([{ index, delta, finish_reason: null }]),
    );
  });
  const ends = choices.map((choice, position) => {
    const rest = without(choice, 'message');
    return chunk([{ index: position, ...rest, delta: {} }]);
  });
  const usage = isRecord(whole.usage) ? [chunk([], { usage: whole.usage })] : [];
  return [...content, ...ends, ...usage];
}

function deltasOf(message: Json, draw: (below: number) => number): readonly Json[] {
  const order = ['reasoning_content', 'reasoning', 'content', 'refusal'];
  const texts = order.flatMap((name) =>
    torn(text(message[name]), draw).map((piece) => ({ [name]: piece })),
  );
  const calls = list(message.tool_calls).flatMap((call, index) => callDeltas(call, index, draw));
  const isReported = (name: string): boolean => typeof message[name] === 'string';
  const { reasoning_details, ...rest } = without(
    message,
    'tool_calls',
    'role',
    ...order.filter(isReported),
  );
  const details = reasoning_details === undefined ? [] : [{ reasoning_details }];
  const isThought = (delta: Json): boolean => 'reasoning' in delta || 'reasoning_content' in delta;
  const thoughts = texts.filter(isThought);
  const others = texts.filter((delta) => !isThought(delta));
  return [{ role: 'assistant', ...rest }, ...thoughts, ...details, ...others, ...calls];
}

function callDeltas(call: unknown, index: number, draw: (below: number) => number): Json[] {
  const { function: called, ...rest } = record(call);
  if (!isRecord(called)) return [{ tool_calls: [{ index, ...rest }] }];
  const pieces = torn(text(called.arguments), draw);
  return [
    { tool_calls: [{ index, ...rest, function: { ...called, arguments: '' } }] },
    ...pieces.map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ];
}

/** The content of a chat completion. */
export function openaiReply(whole: Json): Reply {
  const choices = list(whole.choices).map((choice, position) => choiceOf(record(choice), position));
  const isUseless = choices.every(({ output: pieces, word }) => pieces.length === 0 && word === '');
  return {
    choices: choices.map(({ word, ...choice }) => choice),
    figures: isRecord(whole.usage) ? figuresOf(whole.usage) : undefined,
    useless: isUseless,
  };
}

const finishes: Readonly<Record<string, Choice['finish']>> = {
  length: 'length',
  content_filter: 'content_filter',
};

function choiceOf(choice: Json, position: number): Choice & { readonly word: string } {
  const message = record(choice.message);
  const pieces = joined([
    ...thoughtsIn(message).map((thought) => ({ kind: 'thought', text: thought }) as const),
    ...contentIn(message.content),
    { kind: 'text', text: text(message.refusal) },
    ...mediaIn(message),
    ...callsIn(message),
  ]);
  const word = text(choice.finish_reason);
  const plain = pieces.some(({ kind }) => kind === 'call') ? 'tool_calls' : 'stop';
  const isRefused = text(message.refusal) !== '';
  return {
    index: count(choice.index ?? position),
    output: pieces,
    finish: isRefused ? 'content_filter' : (finishes[word] ?? plain),
    word,
  };
}

function thoughtsIn(message: Json): readonly string[] {
  const plain = text(message.reasoning_content) || text(message.reasoning);
  if (plain !== '') return [plain];
  return list(message.reasoning_details).map((one) => {
    const detail = record(one);
    return text(detail.text) || text(detail.summary);
  });
}

/** Text, or Mistral's list of reasoning and text parts. */
function contentIn(content: unknown): readonly OutputPart[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  return list(content).flatMap((one): OutputPart[] => {
    const part = record(one);
    const thoughts = list(part.thinking).map((thought) => text(record(thought).text));
    return [
      { kind: 'thought', text: thoughts.join('') },
      { kind: 'text', text: text(part.text) },
    ];
  });
}

function mediaIn(message: Json): readonly OutputPart[] {
  if (!isRecord(message.audio)) return [];
  const { transcript, data } = message.audio;
  // Snowflake sends every member, even empty ones.
  if (text(data) === '') return [];
  return [
    { kind: 'text', text: text(transcript) },
    { kind: 'media', data: text(data) },
  ];
}

function callsIn(message: Json): readonly OutputPart[] {
  const called = isRecord(message.function_call) ? [message.function_call] : [];
  const calls = list(message.tool_calls).map((one) => {
    const { function: plain, custom } = record(one);
    const { name, input } = record(custom);
    return isRecord(plain) ? plain : { name, arguments: input };
  });
  const named = [...calls, ...called].filter(({ name }) => text(name) !== '');
  return named.map((call) => ({
    kind: 'call',
    name: text(call.name),
    args: argumentsOf(text(call.arguments)),
  }));
}

/**
 * xAI doesn't include reasoning in the completion tokens, and Google's compatible endpoint only in
 * the total.
 */
function figuresOf(usage: Json): Figures {
  const reported = output(usage);
  const input = count(reported.prompt_tokens);
  const completion = count(reported.completion_tokens);
  const reasoning = count(record(reported.completion_tokens_details).reasoning_tokens);
  const beyond = count(reported.total_tokens) - input - completion;
  const isBeside = beyond > 0 && (reasoning === 0 || reasoning === beyond);
  const cached = count(record(reported.prompt_tokens_details).cached_tokens);
  return { input, cached, output: completion + (isBeside ? beyond : 0) };
}
