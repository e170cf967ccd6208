/**
 * Writes calls: those of functions, whose arguments stream, and those of custom tools, which are
 * written whole.
 */
import { customInput } from '../../../../canonical/custom-tools.ts';
import { jsonText, oneLine, quoted, quotedLine } from '../../../../canonical/raw-json.ts';
import type { CallerTool } from './exchange.ts';
import { addItem, endItem, type ItemPlace, type ItemStatus } from './item-place.ts';

export interface CallHead extends Pick<CallerTool, 'name' | 'namespace'> {
  readonly callId: string;
}

export interface OpenCall {
  add(text: string): void;
  /** Writes the last events of the call, and returns it as JSON text. */
  end(): string;
}

export function openCall(place: ItemPlace, head: CallHead): OpenCall {
  const { id, index, log } = place;
  const at = `"item_id":${quoted(id)},"output_index":${index}`;
  const delta = log.repeated('response.function_call_arguments.delta', at);
  let text = '';
  const add = (more: string): void => {
    if (more === '') return;
    text += more;
    delta(more);
  };
  addItem(place, callText(place, head, { arguments: '', status: 'in_progress' }));
  return {
    add,
    end: () => {
      // Clients parse the arguments, which an empty text would prevent.
      if (text === '') add('{}');
      log.add('response.function_call_arguments.done', `${at},"arguments":${quotedLine(text)}`);
      return endItem(place, callText(place, head, { arguments: text, status: 'completed' }));
    },
  };
}

function callText(
  { id }: ItemPlace,
  { callId, name, namespace }: CallHead,
  call: { readonly arguments: string; readonly status: ItemStatus },
): string {
  const { arguments: text, status } = call;
  const names = { call_id: callId, name, namespace };
  return oneLine(jsonText({ id, type: 'function_call', status, arguments: text, ...names }));
}

/** Writes a call of a custom tool with the arguments of the function that stands for the tool. */
export function writeCustomCall(
  place: ItemPlace,
  head: CallHead,
  functionArguments: string,
): string {
  const { id, index, log } = place;
  const input = customInput(functionArguments);
  const at = `"item_id":${quoted(id)},"output_index":${index}`;
  addItem(place, customText(place, head, { input: '', status: 'in_progress' }));
  if (input !== '') log.repeated('response.custom_tool_call_input.delta', at)(input);
  log.add('response.custom_tool_call_input.done', `${at},"input":${quotedLine(input)}`);
  return endItem(place, customText(place, head, { input, status: 'completed' }));
}

function customText(
  { id }: ItemPlace,
  { callId, name, namespace }: CallHead,
  { input, status }: { readonly input: string; readonly status: ItemStatus },
): string {
  const names = { call_id: callId, name, namespace };
  return oneLine(jsonText({ id, type: 'custom_tool_call', status, input, ...names }));
}
