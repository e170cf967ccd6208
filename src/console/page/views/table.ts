/** All views by name, with their titles. */
import type { PageContext, View } from '../context.ts';
import type { ViewName } from '../route.ts';
import { callsView } from './calls.ts';
import { channelsView } from './channels.ts';
import { keysView } from './keys.ts';
import { nowView } from './now.ts';
import { spendView } from './spend.ts';

export interface ViewRow {
  readonly title: string;
  open(page: PageContext): View;
}

export const views: Readonly<Record<ViewName, ViewRow>> = {
  now: { title: 'Now', open: nowView },
  calls: { title: 'Calls', open: callsView },
  spend: { title: 'Spend', open: spendView },
  keys: { title: 'Keys', open: keysView },
  channels: { title: 'Channels', open: channelsView },
};
