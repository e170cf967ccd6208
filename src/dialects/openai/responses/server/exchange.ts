/**
 * What the writers of a reply need to know about its Responses request: the tools under the names
 * that the caller knows, and the members that the reply repeats.
 */
import type { ContentRequest } from '../../../../canonical/request.ts';
import type { JsonObject } from '../../../../json.ts';

export interface CallerTool {
  readonly namespace: string | undefined;
  readonly name: string;
  /** A custom tool takes a text in place of JSON arguments. */
  readonly kind: 'function' | 'custom';
}

/** The tools of one request by their names in the common form, which has no namespaces. */
export interface ToolTable {
  /** A model may leave the namespace out: then only a name that is unique is found. */
  find(flatName: string): CallerTool | undefined;
}

export interface ReplyContext {
  /** The request, whose settings the reply repeats. */
  readonly body: JsonObject;
  readonly tools: ToolTable;
  readonly wantsSummary: boolean;
  readonly wantsLogprobs: boolean;
  /** False if the caller forbids keeping the reply (`store: false`). */
  readonly stores: boolean;
}

export interface ReadRequest {
  readonly request: ContentRequest;
  /** Members that clients send by themselves, as {@link CallerExchange.unasked} has them. */
  readonly unasked: ReadonlySet<string>;
  readonly context: ReplyContext;
}
