/** What is checked about the options of `notify`. */
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { aClock, aFunction, checkMakerOptions, methods, strict, text } from '../ports/set-up.ts';
import { keyIn } from './attempt.ts';
import type { NotifiedType, NotifyOptions } from './options.ts';

const typesByDefault = {
  'budget.reached': true,
  'channel.out': true,
  'channel.back': true,
  'catalog.refused': true,
  'config.refused': true,
  'settlements.lost': true,
  'store.failing': false,
} as const satisfies Record<NotifiedType, boolean>;

const names = Object.keys(typesByDefault).filter(isType);

export const defaultTypes: readonly NotifiedType[] = names.filter((name) => typesByDefault[name]);

function isType(name: string): name is NotifiedType {
  return Object.hasOwn(typesByDefault, name);
}

const urlForm =
  'must be an https URL without user name and password, or an http URL of this machine ' +
  '(127.0.0.1, [::1], localhost)';
const secretForm = 'must be whsec_ and base64 of 24 to 64 bytes';
const secretsForm = `${secretForm}; or a list of two such secrets while you replace one`;
const typesForm = `must be a list of ${names.join(', ')}`;
const metadataForm = 'must be a list of names of metadata';

const secret = z.string(secretForm).refine((value) => keyIn(value) !== undefined, secretForm);

/** The members that are plain data, which a configuration file may also have. */
export const notifyMembers = {
  url: z
    .string(urlForm)
    .refine(isAllowedUrl, urlForm)
    .describe('Where to post: https, or http to this machine.'),
  secret: z
    .union([secret, z.tuple([secret, secret])], secretsForm)
    .describe(
      'Signs the notifications: `whsec_` and base64 of 24 to 64 bytes, or a list of two while ' +
        'you replace one.',
    ),
  on: z
    .array(z.enum(names, typesForm), typesForm)
    .optional()
    .describe('Which are sent. Without it: all but `store.failing`.'),
  metadata: z
    .array(text('must be the name of a member of metadata'), metadataForm)
    .optional()
    .describe('The members of metadata that `budget.reached` has. Without it: none.'),
  name: text('must be text').optional().describe('Its name in the log. Without it: its host.'),
};

const schema = strict('must be an object', {
  ...notifyMembers,
  client: methods('send', 'close').optional(),
  clock: aClock.optional(),
  random: aFunction.optional(),
} satisfies Record<keyof NotifyOptions, z.ZodType>);

/** @throws ConfigurationError that names the wrong option and the remedy, never a value */
export function checkNotifyOptions(options: NotifyOptions): void {
  checkMakerOptions('notify', schema, options, {
    url: 'Use the URL of your receiver',
    secret: 'Create one with: echo "whsec_$(openssl rand -base64 32)"',
  });
}

function isAllowedUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true;
  return isIPv4(hostname) && hostname.startsWith('127.');
}
