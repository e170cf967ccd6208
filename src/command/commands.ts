/** All commands, in the order of the help. */
import { processChanges } from './change-process.ts';
import { channels } from './channels.ts';
import { check } from './check.ts';
import type { Command } from './command.ts';
import { demo } from './demo.ts';
import { keyCommands } from './keys/commands.ts';
import { migrate } from './migrate.ts';
import { schema } from './schema.ts';
import { serve } from './serve.ts';
import { usageCommands } from './usage/commands.ts';

/** The commands of `npx tollgate`. */
export const commands: readonly Command[] = [
  demo,
  serve,
  check,
  migrate,
  ...keyCommands,
  ...usageCommands,
  channels,
  ...processChanges,
  schema,
];
