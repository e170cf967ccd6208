/**
 * Reads an assistant message: reasoning, text and calls, and the signatures that callers send back
 * in several forms.
 */

import { derivedCallId } from '../../../canonical/call-ids.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { Part, ReasoningPart, ToolCallPart } from '../../../canonical/request.ts';
import { items, type JsonObject, type JsonValue, member, stringOrEmpty } from '../../../json.ts';
import {
  argumentsText,
  type ObjectAtPath,
  objectIn,
  objectsIn,
  presentMember,
  requiredObject,
  requiredText,
  textIn,
} from '../../read-members.ts';
import { providerOfFormat } from '../reasoning-details.ts';
import { readProviderParts } from './provider-parts.ts';
import { type ContentPart, readContent, readImage } from './read-parts.ts';

export interface AssistantMessage {
  readonly parts: readonly Part[];
  readonly calls: readonly ToolCallPart[];
  readonly withoutId: readonly ToolCallPart[];
}

/** Reads an assistant message. Missing call ids are derived from `turn`, the index of the turn. */
export function readAssistant(located: ObjectAtPath, turn: number): AssistantMessage {
  // A provider's built-in tools ran before the text was written.
  const content: readonly Part[] = [
    ...readReasoning(located),
    ...readProviderParts(located),
    ...readContentParts(located),
  ];
  const slots = callSlots(located);
  const calls = slots.map((slot, index) =>
    readCall(slot, derivedCallId(turn, content.length + index)),
  );
  const withoutId = calls.filter((_, index) => idOf(slots[index]?.value) === '');
  const parts = [...content, ...calls];
  if (parts.length === 0) parts.push({ kind: 'text', at: `${located.at}.content`, text: '' });
  return { parts: withSignature(parts, located), calls, withoutId };
}

/** Returns the id of a call without the signature that LiteLLM appends to it. */
export function bareCallId(id: string): string {
  return id.split(idSignatureSeparator, 1)[0] ?? '';
}

const idSignatureSeparator = '__thought__';

function readReasoning({ value: message, at }: ObjectAtPath): readonly ReasoningPart[] {
  const details = items(member(message, 'reasoning_details')).flatMap((detail, index) =>
    readDetail(detail, `${at}.reasoning_details[${index}]`),
  );
  // The plain text repeats the text of the details, unless they contain only encrypted data.
  if (details.some(({ text }) => text !== '')) return details;
  const name =
    presentMember(message, 'reasoning_content') === undefined ? 'reasoning' : 'reasoning_content';
  const text = textIn(message, name, at) ?? '';
  return text === '' ? details : [{ kind: 'reasoning', at: `${at}.${name}`, text }, ...details];
}

/** Reads OpenRouter's form, in which `format` names the provider. */
function readDetail(detail: JsonValue, at: string): readonly ReasoningPart[] {
  const provider = providerOfFormat(member(detail, 'format'));
  const data = member(detail, 'data');
  if (member(detail, 'type') === 'reasoning.encrypted' && typeof data === 'string') {
    return [
      { kind: 'reasoning', at, text: '', providerData: { provider, kind: 'encrypted', data } },
    ];
  }
  const detailText = member(detail, 'text') ?? member(detail, 'summary');
  const signature = member(detail, 'signature');
  const isSigned = typeof signature === 'string' && signature !== '';
  const providerData: ProviderData | undefined = isSigned
    ? { provider, kind: 'signature', data: signature }
    : undefined;
  const text = stringOrEmpty(detailText);
  return text === '' && providerData === undefined
    ? []
    : [{ kind: 'reasoning', at, text, providerData }];
}

function readContentParts(located: ObjectAtPath): readonly ContentPart[] {
  const { value: message, at } = located;
  const refusal = textIn(message, 'refusal', at) ?? '';
  const images = objectsIn(message, 'images', at).map((image) => ({
    ...readImage(image, 'image_url'),
    providerData: googleSignature(image.value),
  }));
  return [
    // Many callers send an empty content together with calls; it is ignored.
    ...(member(message, 'content') === '' ? [] : readContent(located)),
    ...(refusal === '' ? [] : [{ kind: 'text', at: `${at}.refusal`, text: refusal } as const]),
    ...images,
  ];
}

function callSlots({ value: message, at }: ObjectAtPath): readonly ObjectAtPath[] {
  const older = objectIn(message, 'function_call', at);
  const calls = objectsIn(message, 'tool_calls', at);
  if (older === undefined) return calls;
  return [...calls, { at: `${at}.function_call`, value: { function: older } }];
}

function readCall({ value: call, at }: ObjectAtPath, derivedId: string): ToolCallPart {
  const type = member(call, 'type') === 'custom' ? 'custom' : 'function';
  const called = requiredObject(call, type, at);
  const id = bareCallId(idOf(call));
  return {
    kind: 'tool_call',
    at,
    id: id === '' ? derivedId : id,
    name: requiredText(called, 'name', `${at}.${type}`),
    arguments: argumentsText(member(called, type === 'custom' ? 'input' : 'arguments')),
    providerData:
      googleSignature(call) ?? signature(member(called, 'thought_signature')) ?? idSignature(call),
  };
}

function idOf(call: JsonObject | undefined): string {
  return stringOrEmpty(member(call, 'id'));
}

/** Reads Google's form: `extra_content.google.thought_signature`. */
function googleSignature(source: JsonObject): ProviderData | undefined {
  const google = member(member(source, 'extra_content'), 'google');
  return signature(member(google, 'thought_signature'));
}

function idSignature(call: JsonObject): ProviderData | undefined {
  const id = idOf(call);
  const mark = id.indexOf(idSignatureSeparator);
  return mark === -1 ? undefined : signature(id.slice(mark + idSignatureSeparator.length));
}

function signature(data: JsonValue | undefined): ProviderData | undefined {
  const isSignature = typeof data === 'string' && data !== '';
  return isSignature ? { provider: 'gemini', kind: 'signature', data } : undefined;
}

/** The provider expects it on the first call, or else on the last text. */
function withSignature(
  parts: readonly Part[],
  { value: message, at }: ObjectAtPath,
): readonly Part[] {
  const providerData = googleSignature(message) ?? signature(member(message, 'thought_signature'));
  if (providerData === undefined) return parts;
  const call = parts.findIndex(({ kind }) => kind === 'tool_call');
  const target =
    call !== -1 && parts[call]?.providerData === undefined
      ? call
      : parts.findLastIndex(({ kind }) => kind === 'text');
  if (target !== -1)
    return parts.map((part, index) => (index === target ? { ...part, providerData } : part));
  return [{ kind: 'text', at: `${at}.extra_content`, text: '', providerData }, ...parts];
}
