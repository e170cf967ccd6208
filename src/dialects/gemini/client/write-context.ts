/** The context that all writers of a Gemini request share. */
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { ContentRequest } from '../../../canonical/request.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';

export interface WriteContext {
  readonly request: ContentRequest;
  readonly capabilities: ResolvedCapabilities;
  readonly names: FunctionNames;
  /** Records the caller's name of a member that is left out, shortened or replaced. */
  readonly drop: (name: string) => void;
}

/** Members of a JSON object. Those that are undefined are left out. */
export type Members = { readonly [name: string]: JsonNode };

export function unlessEmpty(members: Members): Members | undefined {
  return Object.values(members).some((value) => value !== undefined) ? members : undefined;
}
