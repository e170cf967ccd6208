/** The models that a key may use, and the warning about a group that may use none. */
import { protocolNames } from '../../apis.ts';
import type { Model, ProtocolName } from '../../ports/catalog.ts';
import type { Authenticated } from '../call-record.ts';
import type { RecordChecks } from '../ports/record-checks.ts';

type ListChecks = Pick<RecordChecks, 'areModelLists'>;

export async function visibleModels(
  { key, received: { settings, ports } }: Authenticated,
  protocols: readonly ProtocolName[],
  { areModelLists }: ListChecks,
): Promise<readonly Model[]> {
  // Asked for together, so that a catalog that fails is reported once.
  const found = await ports.ask('catalog', 'list', areModelLists, () =>
    Promise.all(protocols.map((protocol) => settings.catalog.list(key.group, protocol))),
  );
  return [...new Map(found.flat().map((model) => [model.id, model])).values()];
}

/** Bounds the memory; a host has far fewer groups. */
const maxGroups = 10_000;

/** Asks once per group; warns if no model lists it: its name is then misspelt on one side. */
export function groupCheck(records: ListChecks): (caller: Authenticated) => Promise<void> {
  const checked = new Set<string>();
  return async (caller) => {
    const { id, group } = caller.key;
    if (checked.has(group) || checked.size >= maxGroups) return;
    checked.add(group);
    try {
      if ((await visibleModels(caller, protocolNames, records)).length > 0) return;
    } catch {
      // The event `port_failed` has reported it.
      return;
    }
    process.emitWarning(
      `The key ${JSON.stringify(id)} is in the group ${JSON.stringify(group)}, which no model ` +
        'lists in its `groups`: check the spelling, or add the group to a model. ' +
        'This warning is given once for each group.',
      { type: 'TollgateWarning', code: 'TOLLGATE_GROUP_WITHOUT_MODELS' },
    );
  };
}
