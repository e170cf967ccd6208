// suite: quick
/**
 * Where an upstream reports no usage, no place of its replies is free: 100 KB planted anywhere in
 * any recorded reply or event raise the count, unless the place is known to hold nothing that a
 * model generated.
 */
import { expect, it } from 'vitest';
import { parseEvents } from '../../src/bytes/sse.ts';
import { contentCount } from '../../src/dialects/taps/content-count.ts';
import { replyTokens } from '../../src/dialects/taps/document-tokens.ts';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../src/json.ts';
import { type FixtureCategory, fixtures } from '../support/recorded/fixtures.ts';
import { responsesFixtures } from '../support/recorded/responses-fixtures.ts';

const planted = 'the quick brown fox jumps over the lazy dog, '.repeat(2_300);
/** A fifth of the planted bytes, which is what sealed data counts. */
const leastTokens = 20_000;

/** Places that are free, by the end of their path, and why. */
const free: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\.)(?:id|item_id|call_id|tool_call_id|responseId|request_id)$/, 'ids'],
  [/(?:^|\.)(?:type|object|role|format|status|phase|language|outcome|toolType)$/, 'kinds'],
  [/(?:^|\.)(?:mimeType|mime_type|media_type)$/, 'types of media, which are counted as media'],
  [/(?:^|\.)\w*(?:finish|stop)_?(?:reason|sequence|details|message)\b/i, 'why a reply ended'],
  [/(?:^|\.)(?:model|created|expires_at|index|obfuscation)$/, 'framing'],
  [/(?:^|\.)(?:usage|usageMetadata|timings|x_groq)\b/, 'counts'],
  [/(?:^|\.)(?:logprobs|logprobsResult)\b/, 'the tokens of content that is counted'],
  [/(?:^|\.)(?:annotations|citations|citation|citationMetadata|groundingMetadata)\b/, 'sources'],
  [/(?:^|\.)(?:urlContextMetadata|search_results)\b/, 'sources'],
  [/(?:^|\.)(?:content_filter_results|prompt_filter_results)\b/, 'judgements'],
  [/(?:^|\.)(?:promptFeedback|safetyRatings|error)\b/, 'judgements'],
  [/(?:^|\.)(?:thought|willContinue|videoMetadata|mediaResolution)$/, 'flags of a part'],
  [/(?:signature|encrypted)/i, 'sealed reasoning, free beside reasoning that can be read'],
  [
    /(?:^|\.)(?:inlineData|audio|images|image_url)\b/,
    'media, which count by their number and kind',
  ],
  [/(?:^|\.)data$/, 'sealed reasoning, or media'],
];

interface Place {
  readonly path: string;
  readonly document: JsonValue;
}

/** The document with each string replaced, and each object extended, one at a time. */
function* plantedIn(value: JsonValue, path: string): Generator<Place> {
  if (typeof value === 'string') yield { path, document: planted };
  else if (Array.isArray(value)) {
    const list = items(value);
    for (const [index, inner] of list.entries()) {
      for (const one of plantedIn(inner, path))
        yield { path: one.path, document: list.with(index, one.document) };
    }
  } else if (isJsonObject(value)) {
    yield { path: `${path}.planted`, document: { ...value, planted } };
    for (const [name, inner] of Object.entries(value)) {
      for (const one of plantedIn(inner, path === '' ? name : `${path}.${name}`))
        yield { path: one.path, document: { ...value, [name]: one.document } };
    }
  }
}

function tokensOf(document: JsonValue): number {
  const count = contentCount();
  count.add(document);
  return count.tokens();
}

function documentsOf(category: FixtureCategory): readonly JsonValue[] {
  return fixtures(category)
    .filter(({ status }) => status === 200)
    .flatMap(({ response, streamed }) =>
      streamed
        ? [...parseEvents(response)].map(({ data }) => parseJson(data ?? ''))
        : [parseJson(Buffer.from(response).toString())],
    )
    .filter((document): document is JsonValue => isJsonObject(document ?? null));
}

it.each([
  'openai-chat',
  'openai-compat',
  'gemini',
  'anthropic',
] as const)('%s: no place of a reply is free', (category) => {
  const seen = new Set<string>();
  const uncounted = new Set<string>();
  for (const document of documentsOf(category)) {
    for (const place of plantedIn(document, '')) {
      if (seen.has(place.path)) continue;
      seen.add(place.path);
      const added = tokensOf(place.document) - tokensOf(document);
      if (added < leastTokens && !free.some(([pattern]) => pattern.test(place.path)))
        uncounted.add(place.path);
    }
  }

  expect([...uncounted].toSorted()).toEqual([]);
  expect(seen.size).toBeGreaterThan(50);
});

/** Places of items of the Responses API that are free, by type of item and end of their path. */
const freeInItems: readonly (readonly [RegExp, string])[] = [
  [/^(?:mcp_list_tools|\w+_output)\b/, 'results of tools'],
  [
    /\.(?:results|outputs|output|tools|error|environment|sources|pending_safety_checks)\b/,
    'results',
  ],
  [/^web_search_call\.action\.query$/, 'the first of its `queries`, which count'],
  [/\.(?:fingerprint|caller)\b/, 'data of the provider'],
  [/^image_generation_call\.result$/, 'an image, which counts as one'],
];

/** Every item that was recorded, whole. */
function recordedItems(): readonly JsonObject[] {
  return responsesFixtures('openai', 'openai-replies', 'compat')
    .filter(({ response }) => response !== undefined)
    .flatMap(({ response = new Uint8Array(), streamed }): readonly (JsonValue | undefined)[] =>
      streamed
        ? [...parseEvents(response)].map(({ data }) => member(parseJson(data ?? ''), 'item'))
        : items(member(parseJson(Buffer.from(response).toString()), 'output')),
    )
    .filter((item): item is JsonObject => isJsonObject(item ?? null));
}

it('Responses API: no place of an item is free', () => {
  const seen = new Set<string>();
  const uncounted = new Set<string>();
  const whole = (item: JsonValue): number => replyTokens({ object: 'response', output: [item] });
  for (const item of recordedItems()) {
    const type = String(member(item, 'type'));
    for (const { path, document } of plantedIn(item, type)) {
      if (seen.has(path)) continue;
      seen.add(path);
      const isFree = [...free, ...freeInItems].some(([pattern]) => pattern.test(path));
      if (whole(document) - whole(item) < leastTokens && !isFree) uncounted.add(path);
    }
  }

  expect([...uncounted].toSorted()).toEqual([]);
  expect(seen.size).toBeGreaterThan(50);
});
