/** Reads the content of recorded Gemini replies, independently of the code under test. */
import type { Choice, Figures, OutputPart, Reply } from './oracle.ts';
import { joined } from './pieces.ts';
import { count, isRecord, type Json, list, output, record, text, torn, without } from './tree.ts';

/** The whole response that the events of a stream add up to. */
export function geminiWhole(documents: readonly Json[]): Json {
  const reported = documents.flatMap(({ candidates }) => list(candidates).map(indexed));
  const indexes = [...new Set(reported.map(({ index }) => count(index)))].sort((a, b) => a - b);
  const candidates = indexes.map((index) =>
    wholeCandidate(reported.filter((candidate) => candidate.index === index)),
  );
  const usages = documents.map(({ usageMetadata }) => output(record(usageMetadata)));
  const isCounted = usages.some((usage) => Object.keys(usage).length > 0);
  return {
    ...Object.assign({}, ...documents.map((document) => without(document, 'candidates')), {
      ...output({ responseId: documents[0]?.responseId, modelVersion: documents[0]?.modelVersion }),
    }),
    ...(candidates.length === 0 ? {} : { candidates }),
    ...(isCounted ? { usageMetadata: Object.assign({}, ...usages) } : {}),
  };
}

/** Google leaves out the index of the only candidate. */
function indexed(candidate: unknown, position: number): Json {
  return { index: position, ...record(candidate) };
}

function wholeCandidate(reported: readonly Json[]): Json {
  const parts = wholeCalls(
    reported.flatMap(({ content }) => list(record(content).parts).map(record)),
  );
  const texts = reported.map(({ finishReason }) => text(finishReason)).filter(Boolean);
  const word = texts.findLast((one) => one !== 'STOP' && finishOf(one) !== 'other') ?? texts.at(-1);
  return {
    ...Object.assign({}, ...reported),
    content: { role: 'model', parts },
    ...(word === undefined ? {} : { finishReason: word }),
  };
}

/** Vertex streams the arguments of a call in fragments with JSON paths. */
function wholeCalls(parts: readonly Json[]): readonly Json[] {
  const whole: Json[] = [];
  for (const part of parts) {
    if (!isRecord(part.functionCall)) {
      whole.push(part);
      continue;
    }
    const { name, args, partialArgs, willContinue } = part.functionCall;
    const isNew = typeof name === 'string';
    if (!isNew && partialArgs === undefined) continue;
    const isPartial = willContinue !== undefined || partialArgs !== undefined;
    const last = isNew
      ? { ...part, functionCall: { name, args: { ...record(args) } } }
      : whole.pop();
    const call = record(last?.functionCall);
    for (const piece of list(partialArgs)) put(call.args, record(piece));
    whole.push(isNew && !isPartial ? part : { ...last });
  }
  return whole;
}

/** `$.a.b[0].c` is a path in the arguments; repeated strings are appended. */
function put(args: unknown, { jsonPath, ...value }: Json): void {
  const steps = [...text(jsonPath).matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)].map(
    ([, name, index]) => name ?? Number(index),
  );
  const known = ['stringValue', 'numberValue', 'boolValue'].find((name) => name in value);
  const leaf = known === undefined ? null : value[known];
  let holder: unknown = args;
  steps.forEach((step, position) => {
    const isLast = position === steps.length - 1;
    const before = Reflect.get(Object(holder), step);
    const empty = typeof steps[position + 1] === 'number' ? [] : {};
    const merged = typeof before === 'string' ? `${before}${text(leaf)}` : leaf;
    Reflect.set(Object(holder), step, isLast ? merged : (before ?? empty));
    holder = Reflect.get(Object(holder), step);
  });
}

/** The events of a stream that adds up to the response, with a part in each and the text split. */
export function geminiStream(whole: Json, draw: (below: number) => number): readonly Json[] {
  const head = without(whole, 'candidates', 'usageMetadata', 'promptFeedback');
  const candidates = list(whole.candidates).map(indexed);
  const events = candidates.flatMap((candidate) =>
    list(record(candidate.content).parts)
      .flatMap((part) => tornPart(record(part), draw))
      .map((part) => ({
        ...head,
        candidates: [{ index: candidate.index, content: { role: 'model', parts: [part] } }],
      })),
  );
  const ends = candidates.map((candidate) => ({
    ...head,
    candidates: [without(candidate, 'content')],
  }));
  const last = without(whole, 'candidates');
  return [...events, ...ends.slice(0, -1), { ...last, ...output({ ...ends.at(-1) }) }];
}

function tornPart(part: Json, draw: (below: number) => number): readonly Json[] {
  if (typeof part.text !== 'string') return [part];
  const pieces = torn(part.text, draw);
  const plain = without(part, 'thoughtSignature');
  return [
    ...pieces.slice(0, -1).map((piece) => ({ ...plain, text: piece })),
    { ...part, text: pieces.at(-1) ?? '' },
  ];
}

/** The content of a response. */
export function geminiReply(whole: Json): Reply {
  const candidates = list(whole.candidates).map(record);
  const isBlocked = text(record(whole.promptFeedback).blockReason) !== '';
  if (candidates.length === 0) {
    return { choices: [], figures: figuresIn(whole), useless: !isBlocked };
  }
  const choices = candidates.map((candidate, position) => choiceOf(candidate, position));
  const usable = choices.filter(({ isUseless }) => !isUseless);
  return {
    choices: choices.map(({ index, output: pieces, finish }) => ({
      index,
      output: pieces,
      finish,
    })),
    figures: figuresIn(whole),
    useless: usable.length === 0,
  };
}

function choiceOf(candidate: Json, position: number): Choice & { readonly isUseless: boolean } {
  const pieces = joined(partsOf(candidate));
  const word = finishOf(text(candidate.finishReason));
  const hasCalls = pieces.some(({ kind }) => kind === 'call');
  const hasOutput = pieces.some(({ kind }) => kind !== 'thought');
  const isPlain = word === 'stop' || word === 'other';
  return {
    index: count(candidate.index ?? position),
    output: pieces,
    finish: isPlain && hasCalls ? 'tool_calls' : word,
    isUseless: word === 'other' && !hasOutput,
  };
}

const filters = /^(SAFETY|BLOCKLIST|PROHIBITED_CONTENT|SPII|RECITATION|MODEL_ARMOR|IMAGE_.*)$/;

function finishOf(word: string): Choice['finish'] {
  if (word === 'STOP') return 'stop';
  if (word === 'MAX_TOKENS') return 'length';
  return filters.test(word) ? 'content_filter' : 'other';
}

function partsOf(candidate: Json): readonly OutputPart[] {
  let visible = '';
  return list(record(candidate.content).parts).flatMap((one): OutputPart[] => {
    const part = record(one);
    const code = codeIn(part);
    if (isRecord(part.functionCall)) {
      const { name, args } = part.functionCall;
      return [{ kind: 'call', name: text(name), args: args ?? {} }];
    }
    if (isRecord(part.inlineData)) return [{ kind: 'media', data: text(part.inlineData.data) }];
    if (part.thought === true) return [{ kind: 'thought', text: text(part.text) }];
    const gap = code !== '' && visible !== '' && !visible.endsWith('\n') ? '\n' : '';
    const shown = code === '' ? text(part.text) : gap + code;
    visible += shown;
    return [{ kind: 'text', text: shown }];
  });
}

/** Code that Google ran becomes a Markdown block. */
function codeIn(part: Json): string {
  const { code, language } = record(part.executableCode);
  const { output } = record(part.codeExecutionResult);
  const content = text(code) || text(output);
  if (content === '' && output === undefined) return '';
  const marks = content.includes('```') ? '````' : '```';
  const lineEnd = content.endsWith('\n') ? '' : '\n';
  return `${marks}${text(language).toLowerCase()}\n${content}${lineEnd}${marks}\n`;
}

function figuresIn({ usageMetadata: usage }: Json): Figures | undefined {
  if (!isRecord(usage)) return undefined;
  return {
    input: count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
    cached: count(usage.cachedContentTokenCount),
    output: count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount),
  };
}
