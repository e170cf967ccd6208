/**
 * Reads `reasoning` items of the input. Each holds one block of reasoning, or one signature, that
 * an upstream gave in an earlier reply, in an envelope that names its provider.
 */
import { portableCallId } from '../../../canonical/call-ids.ts';
import { type Envelope, openEnvelope, providerDataOf } from '../../../canonical/envelope.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { Part, ReasoningPart, TextPart, ToolCallPart } from '../../../canonical/request.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { type ObjectAtPath, textIn } from '../../read-members.ts';

/** The signature of another part of the turn, at the place where its item stood. */
export interface SignatureMark {
  readonly kind: 'signature_mark';
  readonly signs: 'call' | 'text';
  /** The id of the signed call, if it is known. */
  readonly callId: string | undefined;
  readonly providerData: ProviderData;
  readonly at: string;
}

/** A part of an assistant turn, or a signature that isn't at its part yet. */
export type TurnEntry = Part | SignatureMark;

/** What a `reasoning` item adds to the assistant turn, in order. */
export interface ReadReasoning {
  readonly entries: readonly (ReasoningPart | SignatureMark)[];
  /** The caller's names of what no upstream can be sent. */
  readonly dropped: readonly string[];
}

/**
 * Reads one item.
 *
 * @throws GatewayError `invalid_request` for a member of the wrong type
 */
export function readReasoningItem({ value: item, at }: ObjectAtPath): ReadReasoning {
  const sealed = textIn(item, 'encrypted_content', at) ?? '';
  const envelope = openEnvelope(sealed);
  if (envelope !== undefined) return readEnvelope(envelope, item, at);
  const text = shownText(item);
  // OpenAI's own reasoning, which only OpenAI can read, or an envelope that was damaged.
  if (sealed !== '') {
    return { entries: shownPart(text, at), dropped: [`${at}.encrypted_content`] };
  }
  if (isOurs(item, at)) return { entries: shownPart(text, at), dropped: [] };
  return text === ''
    ? { entries: [], dropped: [at] }
    : { entries: [{ kind: 'reasoning', at, text }], dropped: [] };
}

/** The parts of a turn, with each signature at its part, and the signatures of missing calls. */
export interface SignedParts {
  readonly parts: readonly Part[];
  readonly dropped: readonly string[];
}

/**
 * Attaches the signatures of one assistant turn: that of a call to the call of its id, or else to
 * the next one, and that of text to the text before it.
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

function readEnvelope(envelope: Envelope, item: JsonObject, at: string): ReadReasoning {
  const providerDataAt = `${at}.encrypted_content`;
  const providerData = providerDataOf(envelope);
  const { kind, text, callId } = envelope;
  if (kind === 'thinking' || kind === 'redacted') {
    const whole = kind === 'redacted' ? '' : (text ?? shownText(item));
    if (providerData === undefined) return { entries: shownPart(whole, at), dropped: [] };
    const part = { kind: 'reasoning', at: providerDataAt, text: whole, providerData } as const;
    return { entries: [{ ...part, providerDataAt }], dropped: [] };
  }
  const shown = shownPart(text ?? shownText(item), at);
  if (providerData === undefined) return { entries: shown, dropped: [] };
  const mark = { kind: 'signature_mark', signs: kind, callId, providerData } as const;
  return { entries: [...shown, { ...mark, at: providerDataAt }], dropped: [] };
}

/** Reasoning that was shown to the caller and that no provider signed. */
function shownPart(text: string, at: string): readonly ReasoningPart[] {
  return text === '' ? [] : [{ kind: 'reasoning', at, text, displayOnly: true }];
}

/** The reasoning itself if the item has it, or else its summary. */
function shownText(item: JsonObject): string {
  const content = textsOf(member(item, 'content')).join('');
  return content === '' ? textsOf(member(item, 'summary')).join('\n\n') : content;
}

function textsOf(parts: JsonValue | undefined): readonly string[] {
  return items(parts).flatMap((part) => {
    const text = member(part, 'text');
    return typeof text === 'string' ? [text] : [];
  });
}

/** Whether this gateway made the item, as its id tells. */
function isOurs(item: JsonObject, at: string): boolean {
  return textIn(item, 'id', at)?.startsWith('rs_tg_') ?? false;
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

function signed<Signed extends ToolCallPart | TextPart>(
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
  if (before?.kind === 'text' && before.providerData === undefined) {
    parts[last] = signed(before, mark);
  } else {
    parts.push(signed({ kind: 'text', at: mark.at, text: '' }, mark));
  }
}
