/** Generates random native requests with every member that such a request may have. */
import { schema } from './chat-requests.ts';
import { type Drawing, Leaf, type Tree } from './tree.ts';

/** A request with leaves. */
export function nativeRequest(d: Drawing): Tree {
  const hasTools = d.once(2);
  return d.object({
    contents: conversation(d),
    systemInstruction: d.maybe(3, () =>
      d.object({ role: 'system', parts: d.some(1, 2, () => text(d)) }),
    ),
    tools: hasTools
      ? [d.object({ functionDeclarations: d.some(1, 3, (index) => declaration(d, index)) })]
      : undefined,
    toolConfig: d.maybe(hasTools ? 3 : 12, () => d.object({ functionCallingConfig: calling(d) })),
    generationConfig: d.maybe(2, () => d.object(config(d))),
    safetySettings: d.maybe(8, () => [d.object({ category: d.text(), threshold: d.text() })]),
    labels: d.maybe(12, () => ({ team: d.text() })),
    serviceTier: d.maybe(12, () => d.word('FLEX', 'PRIORITY')),
    cachedContent: d.maybe(30, () => d.text()),
    store: d.maybe(16, () => d.word(true, false)),
  });
}

function config(d: Drawing): Readonly<Record<string, Tree>> {
  return {
    temperature: d.maybe(4, () => d.number(0.5)),
    topP: d.maybe(4, () => d.number(0.5)),
    topK: d.maybe(6, () => d.number(40)),
    maxOutputTokens: d.maybe(4, () => d.number(2_048)),
    candidateCount: d.maybe(12, () => new Leaf(2, 3, 'effect')),
    stopSequences: d.maybe(5, () =>
      d.one<Tree>([d.text(), d.text()], [d.text(), new Leaf('', 'x', 'effect')]),
    ),
    presencePenalty: d.maybe(8, () => d.number(0.5)),
    frequencyPenalty: d.maybe(8, () => d.number(0.25)),
    seed: d.maybe(8, () => d.number(42)),
    responseLogprobs: d.maybe(8, () => d.word(true, false)),
    ...form(d),
    responseModalities: d.maybe(20, () => [d.word('TEXT', 'IMAGE')]),
    thinkingConfig: d.maybe(4, () =>
      d.object({
        thinkingBudget: d.maybe(2, () => d.word(8_192, 512)),
        includeThoughts: d.maybe(2, () => true),
      }),
    ),
    speechConfig: d.maybe(16, () => ({ languageCode: d.text() })),
    mediaResolution: d.maybe(16, () => d.text()),
  };
}

function form(d: Drawing): Readonly<Record<string, Tree>> {
  return d.one<() => Readonly<Record<string, Tree>>>(
    () => ({}),
    () => ({}),
    () => ({ responseMimeType: d.word('application/json', 'text/plain') }),
    () => ({ responseMimeType: 'application/json', responseJsonSchema: schema(d) }),
    () => ({ responseMimeType: 'application/json', responseSchema: openApi(d) }),
    () => ({
      responseMimeType: 'text/x.enum',
      responseSchema: { type: 'STRING', enum: [d.text(), d.text()] },
    }),
  )();
}

function openApi(d: Drawing): Tree {
  return {
    type: 'OBJECT',
    properties: {
      a: { type: 'STRING', description: d.text(), nullable: d.word(true, false) },
      b: { type: 'INTEGER', minimum: d.number(4) },
      c: { type: 'STRING', enum: [d.text(), d.text()] },
      e: { type: 'STRING', example: d.text() },
    },
    required: ['a', d.word('b', 'c')],
    propertyOrdering: ['a', 'b', 'c', 'e'],
  };
}

const toolNames = ['look', 'find', 'send'] as const;

function declaration(d: Drawing, index: number): Tree {
  return d.object({
    name: toolNames[index],
    description: d.maybe(2, () => d.text()),
    ...d.one<Readonly<Record<string, Tree>>>(
      {},
      { parameters: openApi(d) },
      { parametersJsonSchema: schema(d) },
    ),
    response: d.maybe(12, () => ({ type: 'OBJECT', description: d.text() })),
    behavior: d.maybe(12, () => d.word('BLOCKING', 'NON_BLOCKING')),
  });
}

function calling(d: Drawing): Tree {
  return d.one<Tree>(
    d.object({ mode: d.word('AUTO', 'ANY') }),
    d.object({ mode: d.word('ANY', 'NONE'), allowedFunctionNames: ['look'] }),
    d.object({ mode: d.word('VALIDATED', 'AUTO') }),
  );
}

function conversation(d: Drawing): Tree {
  let calls = 0;
  const steps = d.some(1, 3, (): readonly Tree[] => {
    const input = content(
      d,
      'user',
      d.some(1, 3, () => part(d)),
    );
    if (d.once(3)) return [input];
    const made = d.below(3);
    const hasIds = d.once(2);
    const ids = Array.from({ length: made }, () => {
      calls += 1;
      return hasIds ? `id_${calls}` : undefined;
    });
    const messages = d.some(0, 2, () => modelPart(d));
    const called = ids.map((id, index) => call(d, id, toolNames[index] ?? 'look'));
    const turns = d.once(3)
      ? [...messages, ...called].map((one) => content(d, 'model', [one]))
      : [content(d, 'model', [...messages, ...called])];
    const results = ids.map((id, index) => result(d, id, toolNames[index] ?? 'look'));
    const answered = results.length === 0 ? [] : [content(d, 'user', results)];
    return [input, ...(messages.length + called.length === 0 ? [] : turns), ...answered];
  });
  return [...steps.flat(), content(d, 'user', [text(d)])];
}

function content(d: Drawing, role: string, parts: readonly Tree[]): Tree {
  return d.object({ role, parts });
}

function text(d: Drawing): Tree {
  return d.object({ text: d.text() });
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ';

function part(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => text(d),
    () => text(d),
    () =>
      d.object({
        inlineData: d.object({
          mimeType: d.word('image/png', 'image/webp'),
          data: new Leaf(`${png}AAAA`, `${png}BBBB`, 'effect'),
          displayName: d.maybe(3, () => d.text()),
        }),
        mediaResolution: d.maybe(6, () => ({
          level: d.word('MEDIA_RESOLUTION_LOW', 'MEDIA_RESOLUTION_HIGH'),
        })),
      }),
    () =>
      d.object({
        inlineData: d.object({
          mimeType: 'application/pdf',
          data: new Leaf('JVBERi0xAAAA', 'JVBERi0xBBBB', 'effect'),
          displayName: d.maybe(3, () => d.text()),
        }),
      }),
    () =>
      d.object({
        fileData: d.object({
          mimeType: 'image/png',
          fileUri: new Leaf(
            `https://img.test/${d.below(10_000)}.png`,
            'https://img.test/o.png',
            'effect',
          ),
          displayName: d.maybe(3, () => d.text()),
        }),
      }),
    () =>
      d.object({
        inlineData: {
          mimeType: d.word('audio/wav', 'audio/mp3'),
          data: new Leaf('UklGRgAAAABXQVZF', 'UklGRgBBBBBXQVZF', 'effect'),
        },
      }),
    () =>
      d.once(4)
        ? { [`kind${d.below(100)}`]: { deep: d.text() } }
        : d.object({ text: d.text(), videoMetadata: d.maybe(8, () => ({ fps: d.number(4) })) }),
  )();
}

function modelPart(d: Drawing): Tree {
  return d.one<() => Tree>(
    () => d.object({ text: d.text(), thoughtSignature: d.maybe(5, () => 'of-gemini') }),
    () =>
      d.object({
        text: d.text(),
        thought: d.word(true, false),
        thoughtSignature: d.maybe(2, () => 'of-gemini'),
      }),
    () => d.object({ executableCode: d.object({ language: 'PYTHON', code: d.text() }) }),
    () =>
      d.object({
        codeExecutionResult: d.object({
          outcome: d.word('OUTCOME_OK', 'OUTCOME_FAILED'),
          output: d.text(),
        }),
      }),
    () => d.object({ toolCall: { toolType: d.text(), id: d.text() } }),
  )();
}

function call(d: Drawing, id: string | undefined, name: string): Tree {
  return d.object({
    functionCall: d.object({ id, name, args: d.data() }),
    thoughtSignature: d.maybe(5, () => 'of-gemini'),
  });
}

function result(d: Drawing, id: string | undefined, name: string): Tree {
  return d.object({
    functionResponse: d.object({
      id,
      name,
      response: d.one<() => Tree>(
        () => ({ output: d.text() }),
        () => ({ result: d.data() }),
        () => ({ error: d.text() }),
        () => ({ error: { code: d.number(404), message: d.text() } }),
        () => d.data(),
        () => ({ output: new Leaf('5', '6', 'effect') }),
      )(),
      parts: d.maybe(8, () => [
        {
          inlineData: {
            mimeType: 'image/png',
            data: new Leaf(`${png}CCCC`, `${png}DDDD`, 'effect'),
          },
        },
      ]),
      scheduling: d.maybe(12, () => d.word('SILENT', 'INTERRUPT')),
    }),
  });
}
