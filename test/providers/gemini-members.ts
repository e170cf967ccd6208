/** The member names that Google knows. Any other name in a request is refused, at any depth. */
import { isJsonObject, type JsonValue, member } from '../../src/json.ts';

/** The members of one kind of object, with the kind of each value, or empty if it is unchecked. */
type Kind = Readonly<Record<string, string>>;

const unchecked = '';

const kinds: Readonly<Record<string, Kind>> = {
  request: {
    ...plain('model', 'cachedContent', 'safetySettings', 'serviceTier', 'store', 'labels'),
    contents: 'content',
    systemInstruction: 'content',
    tools: 'tool',
    toolConfig: 'toolConfig',
    generationConfig: 'config',
  },
  count: { ...plain('model'), contents: 'content', generateContentRequest: 'request' },
  content: { ...plain('role'), parts: 'part' },
  part: {
    ...plain('text', 'thought', 'thoughtSignature', 'executableCode', 'codeExecutionResult'),
    ...plain('videoMetadata', 'mediaResolution', 'partMetadata', 'toolCall', 'toolResponse'),
    inlineData: 'blob',
    fileData: 'file',
    functionCall: 'call',
    functionResponse: 'response',
  },
  blob: plain('mimeType', 'data', 'displayName'),
  file: plain('mimeType', 'fileUri', 'displayName'),
  call: plain('id', 'name', 'args'),
  response: plain('id', 'name', 'response', 'parts', 'willContinue', 'scheduling'),
  tool: {
    ...plain('googleSearch', 'googleSearchRetrieval', 'codeExecution', 'urlContext', 'googleMaps'),
    ...plain('computerUse', 'fileSearch', 'enterpriseWebSearch', 'retrieval', 'mcpServers'),
    functionDeclarations: 'declaration',
  },
  declaration: {
    ...plain('name', 'description', 'parametersJsonSchema', 'response', 'responseJsonSchema'),
    ...plain('behavior'),
    parameters: 'schema',
  },
  toolConfig: {
    ...plain('retrievalConfig', 'includeServerSideToolInvocations'),
    functionCallingConfig: 'calling',
  },
  calling: plain('mode', 'allowedFunctionNames', 'streamFunctionCallArguments'),
  config: {
    ...plain('stopSequences', 'responseMimeType', 'responseModalities', 'candidateCount'),
    ...plain('maxOutputTokens', 'temperature', 'topP', 'topK', 'seed', 'presencePenalty'),
    ...plain('frequencyPenalty', 'responseLogprobs', 'logprobs', 'responseJsonSchema'),
    ...plain('speechConfig', 'mediaResolution', 'enableEnhancedCivicAnswers', 'audioTimestamp'),
    ...plain('routingConfig', 'modelSelectionConfig', 'enableAffectiveDialog', 'responseFormat'),
    responseSchema: 'schema',
    thinkingConfig: 'thinking',
    imageConfig: 'image',
  },
  thinking: plain('includeThoughts', 'thinkingBudget', 'thinkingLevel'),
  image: plain('aspectRatio', 'imageSize', 'personGeneration', 'outputOptions', 'numberOfImages'),
  schema: {
    ...plain('type', 'format', 'title', 'description', 'nullable', 'enum', 'required', 'pattern'),
    ...plain('maxItems', 'minItems', 'minProperties', 'maxProperties', 'minLength', 'maxLength'),
    ...plain('example', 'propertyOrdering', 'default', 'minimum', 'maximum'),
    items: 'schema',
    anyOf: 'schema',
    properties: 'schemas',
  },
};

/**
 * The message with which Google refuses the first name it doesn't know, or undefined. Names may be
 * written in camelCase or in snake_case.
 */
export function unknownName(
  value: JsonValue | undefined,
  kind: 'request' | 'count',
): string | undefined {
  return search(value, kind, '');
}

function search(value: JsonValue | undefined, kind: string, at: string): string | undefined {
  if (Array.isArray(value)) {
    return first(value, (one, index) => search(one, kind, `${at}[${index}]`));
  }
  if (!isJsonObject(value)) return undefined;
  if (kind === 'schemas') {
    return first(Object.entries(value), ([name, one]) =>
      search(one, 'schema', `${at}[${name}].value`),
    );
  }
  const known = kinds[kind] ?? {};
  return first(Object.keys(value), (name) => {
    const inner = known[camelCase(name)];
    if (inner === undefined) return refusal(name, at);
    if (inner === unchecked) return undefined;
    const snake = snakeCase(name);
    return search(member(value, name), inner, at === '' ? snake : `${at}.${snake}`);
  });
}

function first<T>(
  list: readonly T[],
  find: (one: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, one] of list.entries()) {
    const found = find(one, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

function refusal(name: string, at: string): string {
  const location = at === '' ? '' : ` at '${at}'`;
  return `Invalid JSON payload received. Unknown name "${name}"${location}: Cannot find field.`;
}

function plain(...names: readonly string[]): Kind {
  return Object.fromEntries(names.map((name) => [name, unchecked]));
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
