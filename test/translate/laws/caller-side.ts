/** Reads the replies that callers get with simple code: whole, as events, or as an array. */
import { foldedMessage, messagesEvent } from '../../support/laws/messages-laws.ts';
import { dataOf, eventsOf, type Figures, type OutputPart } from './oracle.ts';
import { argumentsOf, joined } from './pieces.ts';
import { count, isRecord, type Json, list, record, text, without } from './tree.ts';

/** The caller's protocol. */
export type Protocol = 'chat' | 'native' | 'responses' | 'messages';

/** One choice as the caller got it. */
export interface GotChoice {
  readonly index: number;
  readonly output: readonly OutputPart[];
  /** In the protocol's terms. */
  readonly finish: string;
  readonly callIds: readonly string[];
}

/** A reply as the caller got it. */
export interface Got {
  readonly choices: readonly GotChoice[];
  readonly figures: Figures | undefined;
}

/** The documents of a response in any framing. */
export function answered(body: string, isStream: boolean): readonly Json[] {
  if (!isStream) return [record(JSON.parse(body))];
  const text = withoutKeepAlive(body);
  if (text.startsWith('[')) return list(JSON.parse(text)).map(record);
  return eventsOf(text)
    .map((event) => dataOf(event).trim())
    .filter((data) => data !== '[DONE]')
    .map((data) => record(JSON.parse(data)));
}

/** Content that the caller does not get opens a stream, with a keep-alive in its place. */
export function withoutKeepAlive(body: string): string {
  return body.replace(/^(?:: keep-alive\n\n|\r\n)/, '');
}

/** The whole reply assembled from the documents of a response. */
export function assembled(protocol: Protocol, documents: readonly Json[]): Json {
  return wholes[protocol](documents);
}

/** The content of an assembled reply. */
export function gotten(protocol: Protocol, whole: Json): Got {
  return gots[protocol](whole);
}

function chatWhole(chunks: readonly Json[]): Json {
  const reported = chunks.flatMap(({ choices }) => list(choices).map(record));
  const indexes = [...new Set(reported.map(({ index }) => count(index)))].sort((a, b) => a - b);
  const usage = chunks.map((chunk) => chunk.usage).findLast(isRecord);
  return {
    ...without(record(chunks[0]), 'choices', 'usage', 'object'),
    choices: indexes.map((index) => chatChoice(reported.filter((one) => one.index === index))),
    ...(usage === undefined ? {} : { usage }),
  };
}

/** A whole message is read like a single delta. */
function chatChoice(reported: readonly Json[]): Json {
  const message = reported
    .map(({ delta, message: whole }) => record(whole ?? delta))
    .reduce(mergedObject, {});
  const { content, refusal, ...rest } = message;
  const tokens = reported.flatMap(({ logprobs }) => list(record(logprobs).content));
  return {
    ...without(record(reported.at(-1)), 'delta', 'message', 'logprobs'),
    message: { content: content || null, refusal: refusal || null, ...rest },
    logprobs: tokens.length === 0 ? null : tokens,
  };
}

const fixed = new Set(['role', 'id', 'type', 'mime_type', 'thought_signature']);

function mergedObject(one: Json, other: Json): Json {
  const merged: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = one[name];
    merged[name] =
      name === 'tool_calls' ? grownCalls(before, value) : grownValue(name, before, value);
  }
  return merged;
}

function grownValue(name: string, before: unknown, value: unknown): unknown {
  if (Array.isArray(before)) return [...before, ...list(value)];
  if (isRecord(before) && isRecord(value)) return mergedObject(before, value);
  const isText = typeof before === 'string' && typeof value === 'string';
  return isText && !fixed.has(name) ? before + value : value;
}

/** Joins fragments by index, which a whole call doesn't have. */
function grownCalls(before: unknown, fragments: unknown): readonly unknown[] {
  const calls = [...list(before)];
  list(fragments).forEach((fragment, position) => {
    const { index = position, ...rest } = record(fragment);
    const at = count(index);
    calls[at] = calls[at] === undefined ? rest : mergedObject(record(calls[at]), rest);
  });
  return calls;
}

function chatGot(whole: Json): Got {
  const choices = list(whole.choices).map((one): GotChoice => {
    const { index, message, finish_reason } = record(one);
    const { content, reasoning_content, tool_calls, images } = record(message);
    const calls = list(tool_calls).map(record);
    return {
      index: count(index),
      output: joined([
        { kind: 'thought', text: text(reasoning_content) },
        { kind: 'text', text: text(content) },
        ...list(images).map((image) => mediaOf(text(record(record(image).image_url).url))),
        ...calls.map(({ function: called }) => callOf(record(called))),
      ]),
      finish: text(finish_reason),
      callIds: calls.map(({ id }) => text(id)),
    };
  });
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = record(whole.usage);
  const figures = {
    input: count(prompt_tokens),
    cached: count(record(prompt_tokens_details).cached_tokens),
    output: count(completion_tokens),
  };
  return { choices, figures: whole.usage === undefined ? undefined : figures };
}

function mediaOf(url: string): OutputPart {
  return { kind: 'media', data: url.replace(/^data:[^,]*,/, '') };
}

function callOf({ name, arguments: json }: Json): OutputPart {
  return { kind: 'call', name: text(name), args: argumentsOf(text(json)) };
}

function nativeWhole(documents: readonly Json[]): Json {
  const reported = documents.flatMap(({ candidates }) => list(candidates).map(record));
  const indexes = [...new Set(reported.map(({ index }) => count(index)))].sort((a, b) => a - b);
  const candidates = indexes.map((at) =>
    nativeCandidate(reported.filter(({ index }) => index === at)),
  );
  const heads = documents.map((document) => without(document, 'candidates'));
  return { ...Object.assign({}, ...heads), ...(candidates.length === 0 ? {} : { candidates }) };
}

function nativeCandidate(reported: readonly Json[]): Json {
  const parts = reported.flatMap(({ content }) => list(record(content).parts).map(record));
  const tokens = reported.map(({ logprobsResult }) => record(logprobsResult));
  const chosen = tokens.flatMap(({ chosenCandidates }) => list(chosenCandidates));
  return {
    ...Object.assign({}, ...reported.map((one) => without(one, 'content', 'logprobsResult'))),
    parts: parts.reduce(withPart, []),
    chosen,
  };
}

/** Text continues until a signature ends it. An empty part without a signature is ignored. */
function withPart(before: readonly Json[], part: Json): readonly Json[] {
  const last = before.at(-1);
  const isText = typeof part.text === 'string';
  if (isText && part.text === '' && part.thoughtSignature === undefined) return before;
  const continues =
    isText &&
    typeof last?.text === 'string' &&
    last.thoughtSignature === undefined &&
    last.thought === part.thought;
  if (!continues) return [...before, part];
  return [...before.slice(0, -1), { ...last, ...part, text: text(last.text) + text(part.text) }];
}

function nativeGot(whole: Json): Got {
  const choices = list(whole.candidates).map((one): GotChoice => {
    const { index, parts, finishReason } = record(one);
    const calls = list(parts).flatMap((part) => list([record(part).functionCall]).filter(isRecord));
    return {
      index: count(index),
      output: joined(list(parts).map((part) => partOutput(record(part)))),
      finish: text(finishReason),
      callIds: calls.map((call) => text(record(call).id)),
    };
  });
  const usage = record(whole.usageMetadata);
  const figures = {
    input: count(usage.promptTokenCount),
    cached: count(usage.cachedContentTokenCount),
    output: count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount),
  };
  return { choices, figures: whole.usageMetadata === undefined ? undefined : figures };
}

function partOutput(part: Json): OutputPart {
  if (isRecord(part.functionCall)) {
    return { kind: 'call', name: text(part.functionCall.name), args: part.functionCall.args };
  }
  if (isRecord(part.inlineData)) return { kind: 'media', data: text(part.inlineData.data) };
  return { kind: part.thought === true ? 'thought' : 'text', text: text(part.text) };
}

/** The items as they are announced to be whole, with the members of the last response object. */
function responsesWhole(documents: readonly Json[]): Json {
  const [first] = documents;
  if (first?.object === 'response') return first;
  const done = documents.filter(({ type }) => type === 'response.output_item.done');
  return { ...record(documents.at(-1)?.response), output: done.map(({ item }) => item) };
}

function responsesGot(whole: Json): Got {
  const reported = list(whole.output).map(record);
  const { input_tokens, output_tokens, input_tokens_details } = record(whole.usage);
  const figures = {
    input: count(input_tokens),
    cached: count(record(input_tokens_details).cached_tokens),
    output: count(output_tokens),
  };
  const choice: GotChoice = {
    index: 0,
    output: joined(reported.flatMap(itemOutput)),
    finish: text(record(whole.incomplete_details).reason) || text(whole.status),
    callIds: reported.flatMap(({ call_id }) => (call_id === undefined ? [] : [text(call_id)])),
  };
  return { choices: [choice], figures: isRecord(whole.usage) ? figures : undefined };
}

/** The oracle does not count refusals as output. */
function itemOutput(item: Json): readonly OutputPart[] {
  switch (item.type) {
    case 'message':
      return list(item.content).map((part) => ({ kind: 'text', text: text(record(part).text) }));
    case 'reasoning':
      return list(item.summary).map((part) => ({ kind: 'thought', text: text(record(part).text) }));
    case 'function_call':
      return [callOf(item)];
    default:
      return [{ kind: 'media', data: text(item.result) }];
  }
}

/** A stream is assembled by the rules of Anthropic's SDK. */
function messagesWhole(documents: readonly Json[]): Json {
  const [first] = documents;
  if (first?.type === 'message') return first;
  const events = documents.map((data) => messagesEvent(JSON.stringify(data)));
  return record(JSON.parse(JSON.stringify(foldedMessage(events))));
}

function messagesGot(whole: Json): Got {
  const blocks = list(whole.content).map(record);
  const usage = record(whole.usage);
  const cached = count(usage.cache_read_input_tokens);
  const written = count(usage.cache_creation_input_tokens);
  const figures = {
    input: count(usage.input_tokens) + cached + written,
    cached,
    output: count(usage.output_tokens),
  };
  const choice: GotChoice = {
    index: 0,
    output: joined(blocks.flatMap(blockOutput)),
    finish: text(whole.stop_reason),
    callIds: blocks.flatMap(({ id }) => (id === undefined ? [] : [text(id)])),
  };
  return { choices: [choice], figures };
}

function blockOutput(block: Json): readonly OutputPart[] {
  switch (block.type) {
    case 'text':
      return [{ kind: 'text', text: text(block.text) }];
    case 'thinking':
      return [{ kind: 'thought', text: text(block.thinking) }];
    case 'tool_use':
      return [{ kind: 'call', name: text(block.name), args: block.input }];
    default:
      return [];
  }
}

const wholes: Readonly<Record<Protocol, (documents: readonly Json[]) => Json>> = {
  chat: chatWhole,
  native: nativeWhole,
  responses: responsesWhole,
  messages: messagesWhole,
};

const gots: Readonly<Record<Protocol, (whole: Json) => Got>> = {
  chat: chatGot,
  native: nativeGot,
  responses: responsesGot,
  messages: messagesGot,
};
