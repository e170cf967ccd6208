/** `tollgate schema`: prints the JSON Schema of the configuration file, which the build ships. */
import { type Command, exitCodes } from './command.ts';
import { configJsonSchema } from './config/json-schema.ts';
import { printJson } from './output.ts';

/** The command. */
export const schema: Command = {
  name: 'schema',
  summary: 'print the JSON Schema of tollgate.json',
  options: {},
  about: `Prints the schema with which editors complete the configuration file. The package
contains it as dist/tollgate-config.schema.json; "$schema" in the file can point there.`,
  examples: ['npx tollgate schema > tollgate.schema.json'],
  run: async ({ around }) => {
    printJson(around, configJsonSchema());
    return exitCodes.done;
  },
};
