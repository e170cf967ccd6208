/** The commands about the usage log. */
import type { Command } from '../command.ts';
import { calls } from './calls.ts';
import { deletion } from './deletion.ts';
import { refusals } from './refusals.ts';
import { report } from './report.ts';

/** In the order of the help. */
export const usageCommands: readonly Command[] = [report, calls, refusals, deletion];
