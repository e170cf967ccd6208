/** What the measurement of a prompt has to know about each type of item in a Responses request. */
import { none, type Tape, type Value } from '../../../bytes/json/tape.ts';
import { filledValue, isBlank } from '../../measure/prompt-size.ts';

/**
 * What an item contributes to a prompt. `message` and `output` hold content parts, `screenshot` a
 * single one; `sealed` may hold reasoning that only its provider can read, else its id refers to
 * reasoning that the provider has stored; `reference` holds nothing but the id of a stored item;
 * `image` holds a generated image, or the id of one; `text` is read as text with everything in it;
 * `unknown` may be anything.
 */
export type ItemKind =
  | 'message'
  | 'output'
  | 'screenshot'
  | 'sealed'
  | 'reference'
  | 'image'
  | 'text'
  | 'unknown';

/** Types of items that a model reads as text. Several refer to earlier calls, but to no content. */
const textTypes: readonly string[] = [
  ...['function_call', 'custom_tool_call', 'additional_tools', 'configuration_update'],
  ...['tool_search_call', 'tool_search_output', 'compaction_trigger', 'computer_call'],
  ...['local_shell_call', 'local_shell_call_output', 'shell_call', 'shell_call_output'],
  ...['apply_patch_call', 'apply_patch_call_output', 'program', 'program_output'],
  ...['mcp_list_tools', 'mcp_call', 'mcp_approval_request', 'mcp_approval_response'],
  // Sending such an item back does not bring back the results of its tool: only its text counts.
  ...['web_search_call', 'code_interpreter_call'],
];

const kinds: ReadonlyMap<string, ItemKind> = new Map<string, ItemKind>([
  ...textTypes.map((type) => [type, 'text'] as const),
  ['message', 'message'],
  ['function_call_output', 'output'],
  ['custom_tool_call_output', 'output'],
  ['computer_call_output', 'screenshot'],
  ['reasoning', 'sealed'],
  ['compaction', 'sealed'],
  ['item_reference', 'reference'],
  // Its results are left out of replies unless they are requested, and stay with the provider.
  ['file_search_call', 'reference'],
  ['image_generation_call', 'image'],
]);

/** Members of which an item can consist without having any content. */
const labels: readonly string[] = ['type', 'id', 'status', 'role', 'phase'];

/**
 * Whether a provider could complete the item only from what it has stored: the members that hold
 * content in an item of this kind are missing, null, empty or blank.
 */
export function isStored(tape: Tape, item: Value, kind: ItemKind): boolean {
  if (kind === 'reference') return tape.present(item, 'id') !== none;
  // Most items have content, so that comes first.
  return isEmpty(tape, item, kind) && filledValue(tape, item, 'id') !== none;
}

function isEmpty(tape: Tape, item: Value, kind: ItemKind): boolean {
  switch (kind) {
    case 'message':
      return filledValue(tape, item, 'content') === none;
    case 'image':
      return filledText(tape, item, 'result') === none;
    case 'sealed':
      // DeepSeek's reasoning is readable, in `content`; its type says nothing.
      return (
        filledText(tape, item, 'encrypted_content') === none &&
        filledValue(tape, item, 'content', 'type') === none
      );
    default:
      return hasOnlyLabels(tape, item);
  }
}

function hasOnlyLabels(tape: Tape, item: Value): boolean {
  const end = tape.after(item);
  for (let value = tape.firstMember(item); value < end; value = tape.after(value)) {
    if (!labels.includes(tape.name(value)) && !isBlank(tape, value)) return false;
  }
  return true;
}

/** The member, if it is a string that is neither empty nor blank; else `none`. */
export function filledText(tape: Tape, object: Value, name: string): Value {
  const value = filledValue(tape, object, name);
  return value === none || !tape.isString(value) ? none : value;
}

/** The kind of an item of this type. Messages and references may omit their type. */
export function itemKind(tape: Tape, item: Value, type: string | undefined): ItemKind {
  if (type !== undefined) return kinds.get(type) ?? 'unknown';
  const has = (name: string): boolean => tape.present(item, name) !== none;
  if (has('content') || has('role')) return 'message';
  return has('id') ? 'reference' : 'unknown';
}
