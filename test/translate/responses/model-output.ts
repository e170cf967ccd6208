/**
 * The output of a model in one reply, and the assistant turns of a request: each as a list of its
 * parts with every signature, in order. Read from the upstream's JSON without the gateway's code.
 */

import { placeholderSignature } from '../../../src/dialects/gemini/placeholder-signature.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { pick, textAt } from '../matrix/json.ts';

/** A part of a model's output: its kind, and all of its content. */
export type OutputPart = readonly [kind: string, ...content: readonly string[]];

/** The output in a reply of these documents; a whole reply is one document. */
export function outputIn(
  dialect: DialectName,
  documents: readonly JsonValue[],
): readonly OutputPart[] {
  return merged(replies[dialect](documents));
}

/** The assistant turns of a request. */
export function assistantTurns(
  dialect: DialectName,
  body: JsonValue,
): readonly (readonly OutputPart[])[] {
  return histories[dialect](body).map(merged);
}

/** The names of the functions that were called. */
export function calledNames(parts: readonly OutputPart[]): readonly string[] {
  return parts.flatMap(([kind, name = '']) => (kind === 'call' ? [name] : []));
}

/** The signatures and the encrypted data of the parts. */
export function sealsIn(parts: readonly OutputPart[]): readonly string[] {
  return parts.map(sealOf).filter((seal) => seal !== '' && seal !== placeholderSignature);
}

function sealOf([kind, ...content]: OutputPart): string {
  switch (kind) {
    case 'redacted':
    case 'signature':
      return content[0] ?? '';
    case 'thinking':
    case 'thought':
      return content[1] ?? '';
    case 'call':
      return content[2] ?? '';
    case 'detail':
      return content[2] || (content[3] ?? '');
    default:
      return '';
  }
}

type Parts = readonly OutputPart[];

const replies: Readonly<Record<DialectName, (documents: readonly JsonValue[]) => Parts>> = {
  anthropic: (documents) => anthropicBlocks(documents).flatMap(anthropicParts),
  gemini: (documents) =>
    geminiParts(documents.flatMap((one) => items(pick(one, 'candidates', 0, 'content', 'parts')))),
  openai: (documents) => openaiParts(openaiMessage(documents)),
};

const histories: Readonly<Record<DialectName, (body: JsonValue) => readonly Parts[]>> = {
  anthropic: (body) =>
    items(member(body, 'messages'))
      .filter((message) => member(message, 'role') === 'assistant')
      .map((message) => items(member(message, 'content')).flatMap(anthropicParts)),
  gemini: (body) =>
    items(member(body, 'contents'))
      .filter((content) => member(content, 'role') === 'model')
      .map((content) => geminiParts(items(member(content, 'parts')))),
  openai: (body) =>
    items(member(body, 'messages'))
      .filter((message) => member(message, 'role') === 'assistant')
      .map(openaiParts),
};

/** Texts in a row are one text: how an upstream cut them is not kept. */
function merged(parts: Parts): Parts {
  const kept: OutputPart[] = [];
  for (const part of parts) {
    const last = kept.at(-1);
    if (part[0] === 'text' && last?.[0] === 'text')
      kept.splice(-1, 1, ['text', last[1] + (part[1] ?? '')]);
    else kept.push(part);
  }
  return kept;
}

function anthropicParts(block: JsonValue): Parts {
  const text = textAt(block, 'text');
  const signature = textAt(block, 'signature');
  switch (member(block, 'type')) {
    case 'thinking':
      return signature === '' ? [] : [['thinking', textAt(block, 'thinking'), signature]];
    case 'redacted_thinking':
      return [['redacted', textAt(block, 'data')]];
    case 'text':
      return text.trim() === '' ? [] : [['text', text]];
    case 'tool_use':
      return [['call', textAt(block, 'name'), JSON.stringify(member(block, 'input'))]];
    default:
      return [];
  }
}

function anthropicBlocks(documents: readonly JsonValue[]): readonly JsonValue[] {
  const [first] = documents;
  if (member(first, 'type') === 'message') return items(member(first, 'content'));
  const blocks: JsonObject[] = [];
  for (const event of documents) {
    const started = member(event, 'content_block');
    if (isJsonObject(started)) blocks.push(started);
    const last = blocks.at(-1);
    const delta = member(event, 'delta');
    if (last === undefined || member(event, 'type') !== 'content_block_delta') continue;
    blocks.splice(-1, 1, { ...last, ...withDelta(last, delta) });
  }
  return blocks.map((block) => {
    const json = textAt(block, 'json');
    return json === '' ? block : { ...block, input: JSON.parse(json) };
  });
}

function withDelta(block: JsonObject, delta: JsonValue | undefined): JsonObject {
  const appended = (name: string, piece = name): JsonObject => ({
    [name]: textAt(block, name) + textAt(delta, piece),
  });
  switch (member(delta, 'type')) {
    case 'text_delta':
      return appended('text');
    case 'thinking_delta':
      return appended('thinking');
    case 'signature_delta':
      return appended('signature');
    case 'input_json_delta':
      return appended('json', 'partial_json');
    default:
      return {};
  }
}

/**
 * A signature after a text is a separate part, because Google puts it on the text or on an empty
 * one. Thoughts without a signature are not sent back.
 */
function geminiParts(list: readonly JsonValue[]): Parts {
  const parts: OutputPart[] = [];
  let thoughts = '';
  for (const part of list) {
    const call = member(part, 'functionCall');
    const text = textAt(part, 'text');
    const sent = textAt(part, 'thoughtSignature');
    if (member(part, 'thought') === true) {
      thoughts += text;
      if (sent === '') continue;
      parts.push(['thought', thoughts, sent]);
    } else if (isJsonObject(call)) {
      const isFirst = !parts.some(([kind]) => kind === 'call');
      const signature = sent || (isFirst ? placeholderSignature : '');
      parts.push([
        'call',
        textAt(call, 'name'),
        JSON.stringify(member(call, 'args') ?? {}),
        signature,
      ]);
    } else {
      if (text !== '') parts.push(['text', text]);
      if (sent !== '') parts.push(['signature', sent]);
    }
    thoughts = '';
  }
  return parts;
}

function openaiMessage(documents: readonly JsonValue[]): JsonValue {
  const whole = pick(documents[0], 'choices', 0, 'message');
  if (whole !== undefined) return whole;
  const deltas = documents.map((one) => pick(one, 'choices', 0, 'delta'));
  const joined = (name: string): string => deltas.map((delta) => textAt(delta, name)).join('');
  const calls = new Map<JsonValue | undefined, { name: string; text: string }>();
  for (const piece of deltas.flatMap((delta) => items(member(delta, 'tool_calls')))) {
    const call = calls.get(member(piece, 'index')) ?? { name: '', text: '' };
    call.name += textAt(piece, 'function', 'name');
    call.text += textAt(piece, 'function', 'arguments');
    calls.set(member(piece, 'index'), call);
  }
  return {
    reasoning_content: joined('reasoning_content'),
    content: joined('content'),
    tool_calls: [...calls.values()].map(({ name, text }) => ({
      function: { name, arguments: text },
    })),
  };
}

/** Google's compatible API signs the message; the signature belongs to its first call, if any. */
function openaiParts(message: JsonValue): Parts {
  const part = (kind: string, name: string): Parts => {
    const text = textAt(message, name);
    return text === '' ? [] : [[kind, text]];
  };
  const signature = signatureIn(message);
  const calls = items(member(message, 'tool_calls')).map((call, index): OutputPart => {
    const own = signatureIn(call) || (index === 0 ? signature : '');
    const name = textAt(call, 'function', 'name') || textAt(call, 'custom', 'name');
    const text = textAt(call, 'function', 'arguments') || textAt(call, 'custom', 'input');
    return ['call', name, text, own];
  });
  const isOfText = signature !== '' && calls.length === 0;
  return [
    ...part('reasoning', 'reasoning_content'),
    ...items(member(message, 'reasoning_details')).filter(isSealed).map(detailPart),
    ...part('text', 'content'),
    ...(isOfText ? [['signature', signature] as const] : []),
    ...calls,
  ];
}

function signatureIn(holder: JsonValue): string {
  return textAt(holder, 'extra_content', 'google', 'thought_signature');
}

/** Other details only repeat the text of the reasoning. */
function isSealed(detail: JsonValue): boolean {
  return textAt(detail, 'signature') !== '' || textAt(detail, 'data') !== '';
}

function detailPart(detail: JsonValue): OutputPart {
  const content = ['type', 'text', 'signature', 'data', 'format'].map((name) =>
    textAt(detail, name),
  );
  return ['detail', ...content];
}
