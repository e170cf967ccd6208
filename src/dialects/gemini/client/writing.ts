/** What every writer of a Gemini request works with. */
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { ContentRequest } from '../../../canonical/request.ts';
import { GatewayError } from '../../../errors.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';

/** One request on its way up. */
export interface Writing {
  readonly request: ContentRequest;
  readonly capabilities: ResolvedCapabilities;
  /** The functions' names as Gemini takes them. */
  readonly names: FunctionNames;
  /** Notes a member, by the caller's name, that is left out, cut or replaced. */
  readonly drop: (name: string) => void;
}

/** Members of a JSON object that is being written; those that are undefined are left out. */
export type Members = { readonly [name: string]: JsonNode };

/** The members, or undefined where none has a value. */
export function unlessEmpty(members: Members): Members | undefined {
  return Object.values(members).some((value) => value !== undefined) ? members : undefined;
}

/** The refusal of a member without which the request would mean something else. */
export function notPortable(param: string, sentence: string): GatewayError {
  return new GatewayError('not_portable', sentence, { param });
}
