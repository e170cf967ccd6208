/**
 * Puts signatures back on their parts. Callers of some APIs send the signature of a call or of a
 * text as a separate item. It is read into a mark until the whole turn is known.
 */
import { portableCallId } from './call-ids.ts';
import { type Envelope, providerDataOf } from './envelope.ts';
import type { ProviderData } from './provider-data.ts';
import type { MediaPart, Part, ReasoningPart, TextPart, ToolCallPart } from './request.ts';

/** The signature of another part of the turn, in the position in which it was sent. */
export interface SignatureMark {
  readonly kind: 'signature_mark';
  readonly signs: 'call' | 'text';
  readonly callId: string | undefined;
  readonly providerData: ProviderData;
  readonly at: string;
}

export type TurnEntry = Part | SignatureMark;

/** The parts of a turn, with each signature at its part, and the signatures of missing calls. */
export interface SignedParts {
  readonly parts: readonly Part[];
  readonly dropped: readonly string[];
}

/**
 * Attaches the signatures of one assistant turn: that of a call to the call of its id, or else to
 * the next one, and that of text to the text or the image before it.
 */
export function withSignatures(entries: readonly TurnEntry[]): SignedParts {
  if (!entries.some(({ kind }) => kind === 'signature_mark')) {
    return { parts: entries.filter((entry) => entry.kind !== 'signature_mark'), dropped: [] };
  }
  const calls = signedCalls(entries);
  const parts: Part[] = [];
  const dropped: string[] = [];
  for (const entry of entries) {
    if (entry.kind === 'tool_call') parts.push(signed(entry, calls.get(entry)));
    else if (entry.kind !== 'signature_mark') parts.push(entry);
    else if (entry.signs === 'text') signText(parts, entry);
    else if (!calls.has(entry)) dropped.push(entry.at);
  }
  return { parts, dropped };
}

/** Maps every signed call to its mark, and every mark that has a call to itself. */
function signedCalls(entries: readonly TurnEntry[]): ReadonlyMap<TurnEntry, SignatureMark> {
  const calls = new Map<TurnEntry, SignatureMark>();
  const attach = (call: ToolCallPart, mark: SignatureMark): void => {
    calls.set(call, mark).set(mark, mark);
  };
  const byId = new Map<string, ToolCallPart>();
  for (const entry of entries) if (entry.kind === 'tool_call') byId.set(entry.id, entry);
  for (const mark of entries.filter(isCallMark)) {
    const call = callOf(mark, byId);
    if (call !== undefined && !calls.has(call)) attach(call, mark);
  }
  const waiting: SignatureMark[] = [];
  for (const entry of entries) {
    if (isCallMark(entry) && !calls.has(entry)) waiting.push(entry);
    if (entry.kind !== 'tool_call' || calls.has(entry)) continue;
    const mark = waiting.shift();
    if (mark !== undefined) attach(entry, mark);
  }
  return calls;
}

function callOf(
  { callId = '' }: SignatureMark,
  byId: ReadonlyMap<string, ToolCallPart>,
): ToolCallPart | undefined {
  return byId.get(callId) ?? byId.get(portableCallId(callId));
}

function isCallMark(entry: TurnEntry): entry is SignatureMark {
  return entry.kind === 'signature_mark' && entry.signs === 'call';
}

function signed<Signed extends ToolCallPart | TextPart | MediaPart>(
  part: Signed,
  mark: SignatureMark | undefined,
): Signed {
  if (mark === undefined) return part;
  return { ...part, providerData: mark.providerData, providerDataAt: mark.at };
}

/** Google may sign an empty text after other parts; then the signature gets such a text again. */
function signText(parts: Part[], mark: SignatureMark): void {
  const last = parts.findLastIndex((part) => part.kind !== 'reasoning' || !part.displayOnly);
  const before = parts[last];
  const isSignable = before?.kind === 'text' || before?.kind === 'media';
  if (isSignable && before.providerData === undefined) {
    parts[last] = signed(before, mark);
  } else {
    parts.push(signed({ kind: 'text', at: mark.at, text: '' }, mark));
  }
}

/**
 * The reasoning or signature in an envelope that a caller sent back. `shown` is the text beside it;
 * `at` names the block or item, and `sealedAt` the envelope in it.
 */
export function envelopeEntries(
  envelope: Envelope,
  shown: string,
  { at, sealedAt }: { readonly at: string; readonly sealedAt: string },
): readonly (ReasoningPart | SignatureMark)[] {
  const { kind, text = shown, callId } = envelope;
  const providerData = providerDataOf(envelope);
  const whole = kind === 'redacted' ? '' : text;
  if (providerData === undefined) return shownReasoning(whole, at);
  if (kind === 'call' || kind === 'text') {
    const mark = {
      kind: 'signature_mark',
      signs: kind,
      callId,
      providerData,
      at: sealedAt,
    } as const;
    return [...shownReasoning(text, at), mark];
  }
  return [{ kind: 'reasoning', at: sealedAt, text: whole, providerData, providerDataAt: sealedAt }];
}

/** Reasoning that was shown to the caller and that no provider signed. */
export function shownReasoning(text: string, at: string): readonly ReasoningPart[] {
  return text === '' ? [] : [{ kind: 'reasoning', at, text, displayOnly: true }];
}
