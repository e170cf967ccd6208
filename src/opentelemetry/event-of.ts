/** The type of one kind of event. */
import type { GatewayEvent } from '../events.ts';

export type EventOf<Type extends GatewayEvent['type']> = Extract<
  GatewayEvent,
  { readonly type: Type }
>;
