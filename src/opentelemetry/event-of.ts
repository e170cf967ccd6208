/** The type of one kind of event. */
import type { GatewayEvent } from '../events.ts';

/** The event of a type. */
export type EventOf<Type extends GatewayEvent['type']> = Extract<
  GatewayEvent,
  { readonly type: Type }
>;
