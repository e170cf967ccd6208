/** What the measurement of a prompt has to know about each type of item in a Responses request. */
import type { Member, Span } from '../../bytes/json/scan/scan.ts';
import { quote } from '../../bytes/json/text.ts';
import { filledValue, isBlank, presentValue } from '../prompt-size.ts';

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
export function isStored(bytes: Buffer, members: readonly Member[], kind: ItemKind): boolean {
  if (kind === 'reference') return presentValue(bytes, members, 'id') !== undefined;
  if (filledValue(bytes, members, 'id') === undefined) return false;
  switch (kind) {
    case 'message':
      return filledValue(bytes, members, 'content') === undefined;
    case 'image':
      return filledText(bytes, members, 'result') === undefined;
    case 'sealed':
      // DeepSeek's reasoning is readable, in `content`; its type says nothing.
      return (
        filledText(bytes, members, 'encrypted_content') === undefined &&
        filledValue(bytes, members, 'content', 'type') === undefined
      );
    default:
      return members.every(({ name, value }) => labels.includes(name) || isBlank(bytes, value));
  }
}

/** The member, if it is a string that is neither empty nor blank. */
export function filledText(
  bytes: Buffer,
  members: readonly Member[],
  name: string,
): Span | undefined {
  const value = filledValue(bytes, members, name);
  return value === undefined || bytes[value.start] !== quote ? undefined : value;
}

/** The kind of an item. Messages and references may omit their type. */
export function itemKind(type: string | undefined, hasMember: (name: string) => boolean): ItemKind {
  if (type !== undefined) return kinds.get(type) ?? 'unknown';
  if (hasMember('content') || hasMember('role')) return 'message';
  return hasMember('id') ? 'reference' : 'unknown';
}
