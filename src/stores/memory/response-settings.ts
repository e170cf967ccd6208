/** Fills in the option `responses` with its defaults and with stores in memory. */
import type { Clock } from '../../clock.ts';
import type { ResponseOptions, ResponseSettings } from '../../ports/response-options.ts';
import { defaultResponseOptions } from '../../ports/response-options-schema.ts';
import { memoryItemStore } from './item-store.ts';
import { memoryResponseIndex } from './response-index.ts';

/** The settings. `before`: the earlier settings of the same gateway, whose stores are kept. */
export function responseSettings(
  { index, items, ...options }: ResponseOptions,
  clock: Clock,
  before: ResponseSettings | undefined,
): ResponseSettings {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return {
    ...defaultResponseOptions,
    ...Object.fromEntries(given),
    index: index ?? before?.index ?? memoryResponseIndex({ clock }),
    items: items === false ? undefined : (items ?? before?.items ?? memoryItemStore({ clock })),
  };
}
