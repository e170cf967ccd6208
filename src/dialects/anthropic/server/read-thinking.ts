/**
 * Reads the thinking blocks of a history. Those of this gateway hold, in an envelope, what the
 * upstream of an earlier reply needs back.
 */
import { type Envelope, openEnvelope, providerDataOf } from '../../../canonical/envelope.ts';
import type { ReasoningPart } from '../../../canonical/request.ts';
import type { SignatureMark } from '../../../canonical/signature-marks.ts';
import { type ObjectAtPath, textIn } from '../../read-members.ts';

/** What a thinking block adds to the assistant turn, in order. */
export interface ReadThinking {
  readonly entries: readonly (ReasoningPart | SignatureMark)[];
  /** The caller's name for what no upstream can be sent. */
  readonly dropped: readonly string[];
}

/**
 * The name under which thinking is listed as dropped: agents send many blocks with every request,
 * whose paths would fill the header.
 */
const listedAs = 'messages.thinking';

/**
 * Reads a `thinking` block. A block of Anthropic's own has a signature that no other provider can
 * read, so it is left out.
 *
 * @throws GatewayError `invalid_request` for a member of the wrong type
 */
export function readThinking({ value: block, at }: ObjectAtPath): ReadThinking {
  const text = textIn(block, 'thinking', at) ?? '';
  return readSealed(textIn(block, 'signature', at), text, at);
}

/**
 * Reads a `redacted_thinking` block, whose data is encrypted.
 *
 * @throws GatewayError `invalid_request` for a member of the wrong type
 */
export function readRedactedThinking({ value: block, at }: ObjectAtPath): ReadThinking {
  return readSealed(textIn(block, 'data', at), '', at);
}

function readSealed(sealed: string | undefined, shown: string, at: string): ReadThinking {
  const envelope = openEnvelope(sealed ?? '');
  return envelope === undefined
    ? { entries: [], dropped: [listedAs] }
    : { entries: entriesOf(envelope, shown, at), dropped: [] };
}

function entriesOf(envelope: Envelope, shown: string, at: string): ReadThinking['entries'] {
  const { kind, text = shown, callId } = envelope;
  const providerData = providerDataOf(envelope);
  if (providerData === undefined) return unsigned(text, at);
  const signed = { at: listedAs, providerData } as const;
  if (kind === 'call' || kind === 'text') {
    const mark = { kind: 'signature_mark', signs: kind, callId, ...signed } as const;
    return [...unsigned(text, at), mark];
  }
  const reasoning = kind === 'redacted' ? '' : text;
  return [{ kind: 'reasoning', text: reasoning, ...signed, providerDataAt: listedAs }];
}

/** Reasoning that was shown to the caller and that no provider signed. */
function unsigned(text: string, at: string): readonly ReasoningPart[] {
  return text === '' ? [] : [{ kind: 'reasoning', at, text, displayOnly: true }];
}
