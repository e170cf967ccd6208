/**
 * Interprets an upstream's error where its status and code are ambiguous: who is at fault, and
 * which error code clients act on. Providers put much of this into messages only and reword them
 * now and then; the patterns below were collected from their error responses.
 */
import { type JsonValue, member } from '../json.ts';
import type { FailureReport } from './taps/tap.ts';

export type Fault = NonNullable<FailureReport['fault']>;

export interface Refusal {
  /** The HTTP status, or the status that an in-band error names; undefined if it names none. */
  readonly status: number | undefined;
  readonly message: string | undefined;
  readonly codes: readonly (string | undefined)[];
}

/** Longer messages are cut before the patterns run. */
const maxMatchedChars = 2_048;

const contextLength = 'context_length_exceeded';
const contentFilter = 'content_filter';

const contextCodes: ReadonlySet<string> = new Set([
  contextLength,
  'exceed_context_size_error',
  'model_context_window_exceeded',
]);
/** OpenAI's codes. They are passed on unchanged, because its clients know them. */
const openaiFilterCodes: ReadonlySet<string> = new Set([
  contentFilter,
  'content_policy_violation',
  'invalid_prompt',
  'moderation_blocked',
]);
/** Codes of OpenRouter, Azure and Alibaba Cloud. */
const otherFilterCodes: ReadonlySet<string> = new Set([
  'refusal',
  'ResponsibleAIPolicyViolation',
  'data_inspection_failed',
]);
const modelCodes: ReadonlySet<string> = new Set(['model_not_found', 'DeploymentNotFound']);

const contextPattern = new RegExp(
  [
    // OpenAI, vLLM, xAI: "maximum context length is 8192 tokens", "maximum prompt length is 9".
    String.raw`\bmax\w* (?:context|prompt|input) (?:length|size|limit|window)`,
    // OpenAI, Anthropic, llama.cpp, Together: "exceed context limit", "the available context size".
    String.raw`\b(?:exceed\w*|longer than)[^.]{0,60}\bcontext[ _](?:length|limit|window|size)`,
    // Anthropic: "prompt is too long: 21 tokens > 20 maximum"; Bedrock: "Input is too long".
    String.raw`\b(?:prompt|input|conversation) (?:is|was) too long`,
    // Google: "The input token count (1200293) exceeds the maximum number of tokens allowed".
    String.raw`\binput token count\b[^.]{0,40}\bexceeds`,
    String.raw`\bexceeds? the maximum number of tokens\b`,
    // OpenAI: "Input tokens exceed the configured limit"; Copilot: "prompt token count of 9 …".
    String.raw`\b(?:input|prompt) tokens? (?:count of \d+ )?exceeds?\b`,
    // Moonshot, Mistral, Groq.
    String.raw`\bexceeded model token limit\b`,
    String.raw`\btokens, too large for model with\b`,
    String.raw`\breduce the length of (?:the|your) (?:messages|prompt|input)`,
  ].join('|'),
  'i',
);
const filterPattern = new RegExp(
  [
    // Azure: "The response was filtered due to the prompt triggering Azure OpenAI's content
    // management policy"; Anthropic: "Output blocked by content filtering policy".
    String.raw`\bcontent (?:management|filtering|moderation|usage) polic`,
    // OpenRouter: "Your input was flagged for"; OpenAI: "your prompt was flagged".
    String.raw`\b(?:input|prompt|messages?|content|image)\b[^.]{0,60}\b(?:flagged|filtered)\b`,
    String.raw`\b(?:input|prompt|messages?|content|image) (?:was|is|has been) blocked\b`,
    // OpenAI's images: "Your request was rejected as a result of our safety system".
    String.raw`\brejected (?:by|as a result of) (?:our|the) safety system`,
    // Alibaba Cloud: "Input data may contain inappropriate content".
    String.raw`\bmay contain inappropriate content\b`,
  ].join('|'),
  'i',
);
const modelPattern = new RegExp(
  [
    // OpenAI: "Project `x` does not have access to model `y`", "must be verified to use the model".
    String.raw`\b(?:access to|use|using|sample from|find)\b[^.]{0,40}\bmodels?\b`,
    // Anthropic: "model: claude-x"; Google: "models/x is not found".
    '^model: ',
    String.raw`\bmodels\/`,
    // OpenRouter: "This model is not available in your region"; OpenAI: "The model does not exist".
    String.raw`\bmodels?\b.{0,80}\b(?:does not exist|not found|not available|unavailable)\b`,
  ].join('|'),
  'i',
);
/** Resources that only a caller can have named, because no channel is configured with any. */
const callerResource = new RegExp(
  [
    String.raw`\b(?:cached?[ _-]?contents?|files?|containers?|vector[ _-]?stores?|skills?)\b`,
    String.raw`\bfile[ _-]?(?:data|uri|id|search[ _-]?stores?)s?\b`,
    String.raw`\b(?:file|cntr|vs|resp|conv|pmpt|skill)[-_][A-Za-z0-9]{6,}`,
    String.raw`\b(?:videos?|youtube)\b`,
  ].join('|'),
  'i',
);
// OpenRouter: no provider of the model supports something in this request.
const unsupportedPattern = /\bno endpoints found that support\b/i;
// Google: "Your API key was reported as leaked"; OpenRouter: "Key limit exceeded (total limit)".
const keyOrBillingPattern = new RegExp(
  [
    String.raw`\bAPI key\b[^.]{0,60}\b(?:leaked|expired|invalid|not valid|revoked|suspended)\b`,
    String.raw`\bkey limit exceeded\b`,
    String.raw`\binsufficient (?:credits?|balance|funds)\b`,
  ].join('|'),
  'i',
);
const accountPattern = /\b(?:account|organi[sz]ation|workspace|API key|billing)\b/i;

const requestStatuses: ReadonlySet<number> = new Set([400, 403, 404, 413, 422]);

/** `isFlagged`: the dialect knows that a content filter rejected the request. */
export function meaningOf(
  { status, message, codes }: Refusal,
  isFlagged = false,
): { readonly fault: Fault | undefined; readonly clientCode: string | undefined } {
  const clientCode = knownCode(codes);
  if (status !== undefined && !requestStatuses.has(status)) {
    return { fault: undefined, clientCode };
  }
  if (isFlagged) return { fault: 'request', clientCode: clientCode ?? contentFilter };
  if (clientCode !== undefined) return { fault: 'request', clientCode };
  if (codes.some((code) => modelCodes.has(code ?? ''))) return { fault: 'model', clientCode };
  const text = message?.slice(0, maxMatchedChars) ?? '';
  // Any status but 403 and 404, which concern permissions and names, may report a prompt that is
  // too long.
  if (status !== 403 && status !== 404 && contextPattern.test(text)) {
    return { fault: 'request', clientCode: contextLength };
  }
  if (filterPattern.test(text) && !accountPattern.test(text)) {
    return { fault: 'request', clientCode: contentFilter };
  }
  return { fault: status === 403 || status === 404 ? faultOfDenial(text) : undefined, clientCode };
}

export function isFilterCode(code: string | undefined): boolean {
  return openaiFilterCodes.has(code ?? '');
}

/** Returns whether clients act on this code regardless of the provider that sent it. */
export function isWellKnownCode(clientCode: string): boolean {
  return clientCode === contextLength || isFilterCode(clientCode);
}

/** The message of a document that is no reply and no error object; proxies often send these. */
export function bareMessage(document: JsonValue | undefined): string | undefined {
  const messages = [member(document, 'message'), member(document, 'detail')];
  return messages.find((value) => typeof value === 'string' && value !== '')?.toString();
}

export function namesCallerResource(message: string | undefined): boolean {
  return callerResource.test(message?.slice(0, maxMatchedChars) ?? '');
}

function knownCode(codes: readonly (string | undefined)[]): string | undefined {
  const known = codes.flatMap((code = '') => {
    if (contextCodes.has(code)) return [contextLength];
    if (openaiFilterCodes.has(code)) return [code];
    return otherFilterCodes.has(code) ? [contentFilter] : [];
  });
  return known[0];
}

function faultOfDenial(text: string): Fault | undefined {
  // This check comes first, because callers choose the names of their resources: a file's name
  // could read like an account error.
  if (callerResource.test(text) || unsupportedPattern.test(text)) return 'request';
  if (keyOrBillingPattern.test(text)) return 'account';
  return modelPattern.test(text) ? 'model' : undefined;
}

/** An integer from 400 to 599, given as a number or as text. */
export function failureStatus(value: JsonValue | undefined): number | undefined {
  const status = typeof value === 'string' ? Number(value) : value;
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600
    ? status
    : undefined;
}
