/**
 * Recognises, by their first line and member, events of a relayed Responses stream that need not be
 * parsed: they repeat the request, announce what follows, or repeat what came before.
 */

/** Events before the content of the reply or of a part. A new item may hold encrypted reasoning. */
const announcements: readonly string[] = [
  'response.in_progress',
  'response.content_part.added',
  'response.reasoning_summary_part.added',
];
/** Events after the deltas of a text, which they repeat. */
const repetitions: readonly string[] = [
  'response.output_text.done',
  'response.refusal.done',
  'response.reasoning_text.done',
  'response.reasoning_summary_text.done',
  'response.reasoning_summary_part.done',
  'response.content_part.done',
  'response.function_call_arguments.done',
  'response.custom_tool_call_input.done',
];

const announced: ReadonlySet<string> = new Set(announcements);
const announcedOrRepeated: ReadonlySet<string> = new Set([...announcements, ...repetitions]);

const nameMark = 'event: response.';
const nameStart = 'event: '.length;
const lineFeed = 0x0a;
const closeBrace = 0x7d;

/**
 * Returns the end of the event that starts at `at`, given whole events as latin1; -1 if it must be
 * parsed. `hasDeltas`: an event that repeats deltas need not be parsed.
 */
export function knownEventEnd(text: string, at: number, hasDeltas: boolean): number {
  if (!text.startsWith(nameMark, at)) return -1;
  const nameEnd = text.indexOf('\n', at);
  const type = text.slice(at + nameStart, nameEnd);
  if (!(hasDeltas ? announcedOrRepeated : announced).has(type)) return -1;
  const dataEnd = text.indexOf('\n', nameEnd + 1);
  const isWhole =
    text.charCodeAt(dataEnd - 1) === closeBrace && text.charCodeAt(dataEnd + 1) === lineFeed;
  return isWhole && text.startsWith(`data: {"type":"${type}",`, nameEnd + 1) ? dataEnd + 2 : -1;
}

/** Whether the event that starts at `at` only says that the call runs. */
export function isStillRunning(text: string, at: number): boolean {
  return text.startsWith('in_progress', at + nameMark.length);
}
