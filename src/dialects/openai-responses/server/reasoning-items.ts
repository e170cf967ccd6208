/**
 * Reads `reasoning` items of the input. Each holds one block of reasoning, or one signature, that
 * an upstream gave in an earlier reply, in an envelope that names its provider.
 */
import { type Envelope, openEnvelope, providerDataOf } from '../../../canonical/envelope.ts';
import type { ReasoningPart } from '../../../canonical/request.ts';
import type { SignatureMark } from '../../../canonical/signature-marks.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { type ObjectAtPath, textIn } from '../../read-members.ts';

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

/** Whether the item has an id of this gateway. */
function isOurs(item: JsonObject, at: string): boolean {
  return textIn(item, 'id', at)?.startsWith('rs_tg_') ?? false;
}
