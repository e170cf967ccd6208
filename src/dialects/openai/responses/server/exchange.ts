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

/** The members of a request that its reply repeats, except those that depend on the reply. */
export interface ReplyEcho {
  /** Members of every response object of the reply, such as `temperature` and `metadata`. */
  readonly settings: JsonObject;
  /**
   * `instructions` and `tools`, which only a whole reply and the terminal event of a stream need:
   * they can be large, and no client reads them earlier.
   */
  readonly prompt: JsonObject;
}

export interface ReplyContext {
  readonly echo: ReplyEcho;
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
