// suite: search
/**
 * Each preset of a vendor, over full and random requests of each API of callers: what the preset
 * says that the vendor refuses is not sent, and everything else is.
 */
import { describe, expect, it } from 'vitest';
import { capabilitiesOf, type ResolvedCapabilities } from '../../../src/dialects/capabilities.ts';
import { openaiCapabilities } from '../../../src/dialects/openai/dialect.ts';
import { type Vendor, vendorCapabilities } from '../../../src/dialects/vendors.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { type Capabilities, reasoningEfforts } from '../../../src/ports/models/capabilities.ts';
import { drawn } from '../../support/seeds.ts';
import { chatRequest } from '../loss/chat-requests.ts';
import { messagesRequest } from '../loss/messages-requests.ts';
import { nativeRequest } from '../loss/native-requests.ts';
import { responsesRequest } from '../loss/responses-requests.ts';
import { withoutRefusals } from '../loss/search.ts';
import { type Outcome, sentFor } from '../loss/translate.ts';
import { drawing } from '../loss/tree.ts';
import { fullRequests } from './full-requests.ts';

const makers = {
  chat: chatRequest,
  responses: responsesRequest,
  messages: messagesRequest,
  native: nativeRequest,
};

/** The members of a body, without indexes, that a vendor refuses, and by which flags. */
const refusals: ReadonlyMap<string, (flags: ResolvedCapabilities) => boolean> = new Map([
  ['max_tokens', ({ maxTokensField }) => maxTokensField !== 'max_tokens'],
  ['max_completion_tokens', ({ maxTokensField }) => maxTokensField === 'max_tokens'],
  ['temperature', ({ sampling }) => sampling === 'none'],
  ['top_p', ({ sampling }) => sampling !== 'any'],
  ['top_k', ({ topK }) => !topK],
  ['presence_penalty', ({ penalties }) => !penalties],
  ['frequency_penalty', ({ penalties }) => !penalties],
  ['seed', ({ seed }) => !seed],
  ['stop', ({ stopLimit }) => stopLimit === 0],
  ['logprobs', ({ logprobs }) => !logprobs],
  ['top_logprobs', ({ logprobs }) => !logprobs],
  ['reasoning_effort', ({ reasoning }) => reasoning === 'none'],
  ['parallel_tool_calls', ({ parallelToolCalls }) => !parallelToolCalls],
  ['user', ({ endUserId }) => !endUserId],
  ['service_tier', ({ serviceTier }) => !serviceTier],
  ['verbosity', ({ verbosity }) => !verbosity],
  ['prompt_cache_key', ({ promptCacheKey }) => !promptCacheKey],
  ['stream_options', ({ includeUsage }) => !includeUsage],
  ['tools.custom', ({ customTools }) => !customTools],
  ['tools.function.strict', ({ strictTools }) => !strictTools],
  ['tool_choice', ({ toolChoice }) => toolChoice === 'auto'],
  ['tool_choice.function', ({ toolChoice }) => toolChoice !== 'any'],
  ['tool_choice.allowed_tools', ({ allowedTools }) => !allowedTools],
  ['messages.reasoning_content', ({ reasoningHistory }) => !reasoningHistory],
  ['messages.reasoning_details', ({ signatures }) => !signatures],
  ['messages.extra_content', ({ signatures }) => !signatures],
  ['response_format', (flags) => flags.structuredOutput === 'none' || !flags.jsonWithTools],
  ['response_format.json_schema', ({ structuredOutput: kind }) => kind !== 'schema'],
  ['modalities', ({ mediaOutput }) => !mediaOutput],
]);

/** Of a model that accepts all of them. */
const everything: Capabilities = {
  ...vendorCapabilities.openai,
  topK: true,
  reasoningHistory: true,
  efforts: reasoningEfforts,
  stopLimit: 1_000,
  responses: false,
};

/** What no request of the API says, or what is only in a history with replies of the gateway. */
const unsaid: Readonly<Record<Protocol, readonly string[]>> = {
  chat: ['prompt_cache_key', 'tools.custom', 'tool_choice.function'],
  responses: [
    ...['top_k', 'presence_penalty', 'frequency_penalty', 'seed', 'stop'],
    ...['tool_choice.allowed_tools', 'tool_choice.function', 'messages.reasoning_content'],
  ],
  messages: [
    ...['presence_penalty', 'frequency_penalty', 'seed', 'logprobs', 'top_logprobs'],
    ...['service_tier', 'verbosity', 'tools.custom', 'tool_choice.allowed_tools'],
    'messages.reasoning_content',
  ],
  native: [
    ...['parallel_tool_calls', 'user', 'verbosity', 'prompt_cache_key', 'tools.custom'],
    'tool_choice.function',
  ],
};
const neverSaid: readonly string[] = [
  ...['max_tokens', 'messages.reasoning_details', 'messages.extra_content', 'modalities'],
];

it.each(protocols())('the full request of %s has every setting', (protocol) => {
  const { json } = sentTo(everything, protocol, fullRequests[protocol]);

  const names = membersIn(parseJson(json));
  const missing = [...refusals.keys()].filter((name) => !names.has(name));
  expect(missing.toSorted()).toEqual([...unsaid[protocol], ...neverSaid].toSorted());
});

const vendors = Object.keys(vendorCapabilities).filter(isVendor);

describe.each(vendors)('%s', (vendor) => {
  const own = vendorCapabilities[vendor];
  const flags = flagsOf(own);

  it.each(protocols())('is sent what it accepts of a full request: %s', (protocol) => {
    const whole = sentTo(everything, protocol, fullRequests[protocol]);
    const { json, dropped, refused: refusedAt } = sentTo(own, protocol, fullRequests[protocol]);

    expect([whole.refused, refusedAt]).toEqual([undefined, undefined]);
    const all = membersIn(parseJson(whole.json));
    const body = parseJson(json);
    const refused = [...refusals].flatMap(([name, isRefused]) =>
      all.has(name) && isRefused(flags) ? [name] : [],
    );
    const kept = [...refusals.keys()].filter((name) => all.has(name) && !refused.includes(name));
    const found = membersIn(body);
    const replaced = flags.maxTokensField === 'max_tokens' ? ['max_tokens'] : [];
    expect(kept.filter((name) => !found.has(name) && !isInside(name, refused))).toEqual([]);
    expect(replaced.filter((name) => !found.has(name))).toEqual([]);
    expect(violations(body, flags)).toEqual([]);
    if (refused.includes('user')) expect(dropped.join()).toMatch(/user|safety_identifier/);
    if (refused.includes('service_tier')) expect(dropped.join()).toMatch(/service_?tier/i);
  });

  it.each(protocols())('is not sent what it refuses of random requests: %s', (protocol) => {
    for (let seed = 1; seed <= 25; seed += 1) {
      const document = makers[protocol](drawing(drawn(seed), 1_000));
      const { base } = withoutRefusals(document, (body) => sentTo(own, protocol, body));

      expect([base.refused, violations(parseJson(base.json), flags), base.json]).toEqual([
        ...[undefined, [], base.json],
      ]);
    }
  });
});

/** Without regard to the flags: a call with one of these members fails. */
it.each([
  ['mistral', 'max_completion_tokens stream_options seed logprobs user service_tier verbosity'],
  ['groq', 'logprobs top_logprobs presence_penalty frequency_penalty service_tier'],
  ['cerebras', 'parallel_tool_calls tools.function.strict response_format'],
  ['google', 'seed presence_penalty frequency_penalty parallel_tool_calls tools.custom'],
  ['xai', 'presence_penalty frequency_penalty stop'],
  ['zai', 'stream_options presence_penalty max_completion_tokens tool_choice'],
  ['deepseek', 'max_completion_tokens seed tool_choice response_format.json_schema'],
  ['alibaba', 'tool_choice'],
  ['moonshot', 'temperature top_p presence_penalty frequency_penalty'],
  ['ollama', 'max_completion_tokens'],
] as const)('%s does not get %s', (vendor, refused) => {
  for (const protocol of protocols()) {
    const { json } = sentTo(vendorCapabilities[vendor], protocol, fullRequests[protocol]);

    const names = membersIn(parseJson(json));
    expect(refused.split(' ').filter((name) => names.has(name))).toEqual([]);
  }
});

type Protocol = keyof typeof makers;

function protocols(): readonly Protocol[] {
  return ['chat', 'responses', 'messages', 'native'];
}

function isVendor(name: string): name is Vendor {
  return Object.hasOwn(vendorCapabilities, name);
}

function flagsOf(own: Capabilities): ResolvedCapabilities {
  return capabilitiesOf(openaiCapabilities, model, own);
}

const model = 'a-model';

function sentTo(own: Capabilities, protocol: Protocol, document: unknown): Outcome {
  return sentFor({ protocol, dialect: 'openai', model, own }, document, true);
}

/** The paths of all members, without indexes. */
function membersIn(value: JsonValue | undefined, path = ''): ReadonlySet<string> {
  if (Array.isArray(value)) return new Set(value.flatMap((one) => [...membersIn(one, path)]));
  if (value === undefined || !isJsonObject(value)) return new Set();
  return new Set(
    Object.entries(value).flatMap(([name, one]) => {
      const at = path === '' ? name : `${path}.${name}`;
      return [at, ...membersIn(one, at)];
    }),
  );
}

function isInside(name: string, refused: readonly string[]): boolean {
  return refused.some((other) => name.startsWith(`${other}.`));
}

/** What the body has although the flags say that it is refused. */
function violations(
  body: JsonValue | undefined,
  flags: ResolvedCapabilities,
): readonly (readonly [name: string, value: unknown])[] {
  const names = membersIn(body);
  const hasTools = items(member(body, 'tools')).length > 0;
  const members = [...refusals].flatMap(([name, isRefused]) => {
    // A format may be refused only together with tools.
    if (name === 'response_format' && flags.structuredOutput !== 'none' && !hasTools) return [];
    return names.has(name) && isRefused(flags) ? [[name, true] as const] : [];
  });
  return [...members, ...unsuitable(body, flags)];
}

/** Values of members that it accepts. */
function unsuitable(
  body: JsonValue | undefined,
  flags: ResolvedCapabilities,
): readonly (readonly [name: string, value: unknown])[] {
  const effort = member(body, 'reasoning_effort');
  const stops = items(member(body, 'stop')).length;
  const choices = member(body, 'n') ?? 1;
  const parts = items(member(body, 'messages')).flatMap((one) => items(member(one, 'content')));
  const media: ReadonlySet<JsonValue | undefined> = new Set(flags.mediaInput.map(partTypeOf));
  const foreign = parts.filter((part) => {
    const type = member(part, 'type');
    return type !== 'text' && !media.has(type);
  });
  const remote = parts.filter((part) => {
    const url = member(member(part, 'image_url'), 'url');
    return typeof url === 'string' && url.startsWith('http');
  });
  return [
    ...(flags.efforts.some((one) => effort === undefined || one === effort)
      ? []
      : [['reasoning_effort', effort] as const]),
    ...(stops > flags.stopLimit ? [['stop', stops] as const] : []),
    ...(Number(choices) > flags.maxCandidates ? [['n', choices] as const] : []),
    ...foreign.map((part) => ['messages', part] as const),
    ...(flags.mediaUrls ? [] : remote.map((part) => ['messages', part] as const)),
  ];
}

function partTypeOf(kind: 'image' | 'audio' | 'video' | 'document'): string {
  return { image: 'image_url', audio: 'input_audio', video: 'video_url', document: 'file' }[kind];
}
