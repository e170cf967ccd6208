/** The commands that change the running process, through its admin port. */
import { isJsonObject, type JsonValue, member } from '../json.ts';
import { askAdmin } from './ask-admin.ts';
import {
  type Command,
  CommandError,
  configOption,
  exitCodes,
  type Given,
  usageError,
} from './command.ts';
import { configFile } from './config-file.ts';
import { amountOf } from './keys/values.ts';
import { printJson } from './output.ts';

const about = `It asks the process that runs with this configuration on admin.port, and needs
admin.token.`;

function switching(task: 'disable' | 'enable'): Command {
  const isOff = task === 'disable';
  return {
    name: `channels ${task}`,
    summary: isOff ? 'send no calls to a channel' : 'send calls to a channel again',
    positionals: 'CHANNEL_ID',
    options: {
      everywhere: {
        type: 'boolean',
        text: `in all processes, by the weight ${isOff ? 0 : 1} in a catalog in a database`,
      },
      config: configOption,
    },
    about: `${
      isOff
        ? 'Takes a channel out of the running process; its running calls continue.'
        : 'Uses a channel again, and forgets the failures that took it out.'
    }
${about}`,
    examples: [`npx tollgate channels ${task} openai-1`],
    run: async (given) => {
      const id = idIn(given, 'CHANNEL_ID');
      const where = given.has('everywhere') ? 'everywhere' : 'process';
      await change(given, `/channels/${encodeURIComponent(id)}/${task}`, { where });
      if (!given.json) given.around.out(`${id} is ${task}d.\n`);
      return exitCodes.done;
    },
  };
}

const resolve: Command = {
  name: 'calls resolve',
  summary: 'say whether a call in doubt ran',
  positionals: 'REQUEST_ID',
  options: {
    ran: { type: 'boolean', text: 'it ran: charge it' },
    'not-run': { type: 'boolean', text: 'it did not run: release its hold' },
    charge: { type: 'string', value: 'AMOUNT', text: 'with --ran; default: what was held' },
    reservation: {
      type: 'string',
      value: 'ID',
      text: 'the reservationId, if several calls have this request id',
    },
    config: configOption,
  },
  about: `Ends the hold of a call whose outcome is unknown, once you know it from the provider.
${about}`,
  examples: [
    'npx tollgate calls resolve req_4711 --not-run',
    'npx tollgate calls resolve req_4711 --ran --charge 0.04',
  ],
  run: async (given) => {
    const id = idIn(given, 'REQUEST_ID');
    await change(given, `/calls/${encodeURIComponent(id)}/resolve`, resolutionIn(given));
    if (!given.json) given.around.out(`${id} is resolved.\n`);
    return exitCodes.done;
  },
};

function resolutionIn(given: Given): JsonValue {
  const [charge, reservationId] = [given.text('charge'), given.text('reservation')];
  const ran = given.has('ran');
  if (ran === given.has('not-run')) throw usageError('Give either --ran or --not-run.');
  if (!ran && charge !== undefined) throw usageError('--charge is for --ran alone.');
  return {
    ran,
    ...(charge === undefined ? {} : { chargeNanos: String(amountOf(charge)) }),
    ...(reservationId === undefined ? {} : { reservationId }),
  };
}

function idIn({ positionals: [id] }: Given, name: string): string {
  if (id === undefined) throw usageError(`${name} is missing.`);
  return id;
}

/** @throws CommandError with the reason of the process, or why there is none */
async function change(given: Given, path: string, body: JsonValue): Promise<void> {
  const { admin } = (await configFile(given).open()).current().config;
  const { value, reason, reply } = await askAdmin(admin, path, given.around.clock, body);
  if (value === undefined) {
    const [code, message] = ['code', 'message'].map((name) => member(member(reply, 'error'), name));
    if (typeof message !== 'string') {
      throw new CommandError(exitCodes.unreachable, `Nothing was changed: ${reason}.`);
    }
    const isOther = code === 'not_signed_in';
    const refusal = isOther ? 'The process that runs has another admin.token.' : message;
    throw new CommandError(exitCodes.failed, refusal);
  }
  if (given.json) printJson(given.around, isJsonObject(value) ? value : {});
}

/** In the order of the help. */
export const processChanges: readonly Command[] = [
  switching('disable'),
  switching('enable'),
  resolve,
];
