/**
 * Gives every tool of a Responses request one name. The common form has no namespaces, so that a
 * tool inside one becomes `<namespace>__<name>`; the way back is this table, never the name's text,
 * because either half may have underscores too.
 */
import { hashOf } from '../../../../canonical/call-ids.ts';
import type { CallerTool, ToolTable } from './exchange.ts';

export interface ToolNames extends ToolTable {
  /** The namespace may be left out if only one tool has the name. */
  flat(tool: Pick<CallerTool, 'namespace' | 'name'>): string;
}

/** @param called tools that only the history names, because they are no longer declared */
export function toolNames(
  declared: readonly CallerTool[],
  called: readonly CallerTool[],
): ToolNames {
  const byFlatName = new Map<string, CallerTool>();
  const flatNames = new Map<string, string>();
  const children = new Map<string, CallerTool | undefined>();
  const add = (tool: CallerTool): void => {
    const key = keyOf(tool);
    if (flatNames.has(key)) return;
    const flatName = freeName(tool, byFlatName);
    byFlatName.set(flatName, tool);
    flatNames.set(key, flatName);
    if (tool.namespace === undefined) return;
    children.set(tool.name, children.has(tool.name) ? undefined : tool);
  };
  const known = ({ namespace, name }: Pick<CallerTool, 'namespace' | 'name'>) => {
    const exact = flatNames.get(keyOf({ namespace, name }));
    if (exact !== undefined) return exact;
    if (namespace === undefined) {
      const child = children.get(name);
      return child === undefined ? undefined : flatNames.get(keyOf(child));
    }
    // OpenAI names a function that its tool search has loaded as a namespace of its own.
    return namespace === name ? flatNames.get(keyOf({ namespace: undefined, name })) : undefined;
  };

  // Tools outside of namespaces keep their names, whatever is declared before them.
  for (const tool of declared) if (tool.namespace === undefined) add(tool);
  for (const tool of declared) if (tool.namespace !== undefined) add(tool);
  for (const tool of called) if (known(tool) === undefined) add(tool);
  return {
    flat: (tool) => known(tool) ?? plainName(tool),
    find: (flatName) => byFlatName.get(flatName) ?? children.get(flatName),
  };
}

export function keyOf({ namespace, name }: Pick<CallerTool, 'namespace' | 'name'>): string {
  return namespace === undefined ? `:${name}` : `${namespace.length}:${namespace}:${name}`;
}

function plainName({ namespace, name }: Pick<CallerTool, 'namespace' | 'name'>): string {
  return namespace === undefined ? name : `${namespace}__${name}`;
}

const hashLength = 6;

/** The plain name, or that with a hash if another tool has it. */
function freeName(tool: CallerTool, taken: ReadonlyMap<string, CallerTool>): string {
  const plain = plainName(tool);
  if (!taken.has(plain)) return plain;
  for (let attempt = 0; ; attempt += 1) {
    const hash = hashOf(`${keyOf(tool)}#${attempt}`);
    const name = `${plain}_${hash.slice(0, hashLength)}`;
    if (!taken.has(name)) return name;
  }
}
