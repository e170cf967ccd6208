/** Collects the events of a reply, whole or streamed: its items, and the usage beside them. */
import {
  type ContentEvent,
  type ReplyUsage,
  type ServiceTier,
  zeroUsage,
} from '../../../../canonical/reply.ts';
import type { ReplyHead, ReplyOutput } from '../../../codec.ts';
import type { EventLog } from './event-log.ts';
import type { ReplyContext } from './exchange.ts';
import { itemIds } from './item-ids.ts';
import { outputBuilder } from './output-builder.ts';
import {
  brokenMembers,
  type ResponseMembers,
  type ResponseState,
  responseText,
} from './response-object.ts';

export interface OpenReply {
  add(event: ContentEvent): void;
  /** The response object as one line of JSON. */
  running(): string;
  /** Ends all items. Called once. */
  end(): { readonly status: ResponseState['status']; readonly response: string };
  broken(): ResponseMembers;
  /** Undefined if it is not kept. */
  output(): ReplyOutput | undefined;
  dropped(): readonly string[];
}

export function startReply(head: ReplyHead, context: ReplyContext, log: EventLog): OpenReply {
  const newId = itemIds(head.newId);
  const source = { id: newId('resp_tg_'), head, context };
  const needsReasoningBack = head.needsReasoningBack === true;
  const items = outputBuilder({ context, needsReasoningBack, log, newId });
  const isKept = context.stores && head.keepsOutput === true;
  let usage: ReplyUsage | undefined;
  let serviceTier: ServiceTier | undefined;
  return {
    add: (event) => {
      if ('choice' in event) items.add(event);
      else if (event.type === 'start') serviceTier ??= event.serviceTier;
      else if (event.type === 'usage') usage = event.usage;
      else if (event.type === 'blocked') {
        usage ??= zeroUsage;
        items.block(event);
      }
    },
    running: () =>
      responseText(source, { status: 'in_progress', output: [], usage: undefined, serviceTier }),
    end: () => {
      const incompleteReason = items.end();
      const status = incompleteReason === undefined ? 'completed' : 'incomplete';
      const output = items.items().map(({ json }) => json);
      const state = { status, incompleteReason, output, usage, serviceTier } as const;
      return { status, response: responseText(source, state) };
    },
    broken: () => {
      const output = items.broken();
      return brokenMembers(source, { status: 'incomplete', output, usage, serviceTier });
    },
    output: () => (isKept ? { replyId: source.id, items: items.items() } : undefined),
    dropped: items.dropped,
  };
}
