/** Generates random Gemini replies with every member that such a reply may have. */
import type { Drawing, Tree } from './tree.ts';

/** A whole reply with leaves. */
export function geminiReply(d: Drawing): Tree {
  return d.object({
    responseId: d.text(),
    modelVersion: d.text(),
    createTime: d.maybe(6, () => d.text()),
    candidates: d.some(1, 2, (index) => candidate(d, index)),
    usageMetadata: d.object({
      promptTokenCount: d.number(100),
      candidatesTokenCount: d.number(40),
      thoughtsTokenCount: d.maybe(3, () => d.number(20)),
      cachedContentTokenCount: d.maybe(3, () => d.number(20)),
      trafficType: d.maybe(6, () => d.text()),
    }),
    modelStatus: d.maybe(12, () => ({ message: d.text() })),
  });
}

function candidate(d: Drawing, index: number): Tree {
  const isOdd = d.once(8);
  return d.object({
    index,
    content: d.object({ role: 'model', parts: [text(d), ...d.some(0, 5, () => part(d))] }),
    finishReason: isOdd
      ? d.word('LANGUAGE', 'STOP')
      : d.one<Tree>('STOP', d.word('MAX_TOKENS', 'STOP')),
    finishMessage: isOdd ? d.text() : undefined,
    safetyRatings: d.maybe(6, () => [{ category: d.text(), blocked: d.once(2) }]),
    avgLogprobs: d.maybe(8, () => d.number(-0.5)),
    tokenCount: d.maybe(8, () => d.number(40)),
    logprobsResult: d.maybe(5, () => logprobs(d)),
    groundingMetadata: d.maybe(5, () => grounding(d)),
    citationMetadata: d.maybe(5, () => ({
      citationSources: [{ uri: d.text(), license: d.text() }],
    })),
    urlContextMetadata: d.maybe(8, () => ({ urlMetadata: [{ retrievedUrl: d.text() }] })),
  });
}

function logprobs(d: Drawing): Tree {
  const token = (): Tree =>
    d.object({
      token: d.text(),
      logProbability: d.number(-0.5),
      tokenId: d.maybe(6, () => d.number(40)),
    });
  return d.object({
    chosenCandidates: [token()],
    topCandidates: [d.object({ candidates: d.some(1, 2, token) })],
  });
}

function grounding(d: Drawing): Tree {
  return d.object({
    webSearchQueries: [d.text()],
    groundingChunks: [{ web: d.object({ uri: d.text(), title: d.text() }) }],
    groundingSupports: d.maybe(2, () => [
      { segment: { startIndex: 0, endIndex: 4, note: d.text() }, groundingChunkIndices: [0] },
    ]),
  });
}

function text(d: Drawing): Tree {
  return d.object({ text: d.text(), thoughtSignature: d.maybe(6, () => d.name('sig')) });
}

function part(d: Drawing): Tree {
  const bytes = (): string => Buffer.from(`medium ${d.below(100_000)}`).toString('base64');
  const media = (mimeType: Tree): Tree => d.object({ mimeType, data: d.word(bytes(), bytes()) });
  const sign = (): Tree => d.maybe(4, () => d.name('sig'));
  return d.one<() => Tree>(
    () => text(d),
    () => d.object({ text: d.text(), thought: true, thoughtSignature: sign() }),
    () =>
      d.object({
        functionCall: d.object({ id: d.maybe(2, () => d.text()), name: d.text(), args: d.data() }),
        thoughtSignature: sign(),
      }),
    () =>
      d.object({
        inlineData: media(d.word('image/png', 'image/jpeg')),
        thoughtSignature: sign(),
      }),
    () => d.object({ inlineData: media('audio/wav'), thoughtSignature: sign() }),
    () => d.object({ inlineData: media(d.text()), thought: true }),
    () =>
      d.object({
        executableCode: d.object({ language: d.word('PYTHON', 'OTHER'), code: d.text() }),
        thoughtSignature: sign(),
      }),
    () =>
      d.object({
        codeExecutionResult: d.object({
          outcome: d.word('OUTCOME_OK', 'OUTCOME_FAILED'),
          output: d.text(),
        }),
      }),
    () => d.object({ fileData: { fileUri: d.text(), mimeType: 'image/png' } }),
    () =>
      d.object({ toolCall: { toolType: d.text(), args: d.data() }, thoughtSignature: d.text() }),
    () => d.object({ [`kind_${d.below(100)}`]: { other: d.text() }, thought: d.once(2) }),
  )();
}
