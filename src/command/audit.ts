/** `tollgate audit`: who changed what, and when. `tollgate console link`: signs another in. */

import { auditTrail } from '../admin/audit/audit.ts';
import { changedMembers } from '../admin/audit/changed-members.ts';
import { given as stated } from '../admin/deps.ts';
import { pagesOf } from '../admin/pages.ts';
import { linksPath } from '../console/links.ts';
import { member } from '../json.ts';
import type { AuditQuery, AuditRecord } from '../ports/audit-log.ts';
import {
  type Command,
  CommandError,
  configOption,
  dateOf,
  durationOf,
  exitCodes,
  type Given,
  usageError,
} from './command.ts';
import { configFile } from './config/read.ts';
import { printJson, table } from './output.ts';
import { askAdmin, originOf } from './requests.ts';
import { refuseMemory, withStores } from './stores/with-stores.ts';

export const audit: Command = {
  name: 'audit',
  summary: 'list who changed what, and when',
  options: {
    last: { value: 'TIME', text: 'how far back: 24h, 7d; default: 7d' },
    from: { value: 'DATE', text: 'the first day, in UTC, in place of --last' },
    to: { value: 'DATE', text: 'the end, exclusive; default: now' },
    actor: { value: 'NAME', text: 'only changes by this operator' },
    action: { value: 'NAME', text: 'only this action: key.limit, or all of a kind: key' },
    target: { value: 'ID', text: 'only changes of this key, model, channel or call' },
    outcome: { value: 'NAME', text: 'only done, failed or refused' },
    csv: { text: 'print CSV' },
    config: configOption,
  },
  about: `Lists the changes by operators, from the console, the admin interface and these commands,
the latest first; refused and failed ones too. Times are in UTC. A member xBefore is the value
that x had before. "retention": { "audit": "365d" } of the configuration bounds what is kept.`,
  examples: [
    'npx tollgate audit --last 7d --actor ada',
    'npx tollgate audit --action key --target key_ada',
    'npx tollgate audit --from 2026-01-01 --csv > audit.csv',
  ],
  run: (given) => {
    const query = queryOf(given);
    return withStores(given, ['audit'], async ({ stores: { auditLog, choice } }) => {
      refuseMemory(choice.audit, 'Audit entries');
      const { around, json } = given;
      const trail = auditTrail(around.clock, { log: auditLog });
      if (given.has('csv')) {
        for await (const lines of trail.csv(query)) around.out(lines);
        return exitCodes.done;
      }
      const records: AuditRecord[] = [];
      const pages = pagesOf((page) => trail.list({ ...query, limit: 1_000, ...page }));
      let isComplete = true;
      for await (const { data, next } of pages) {
        records.push(...data);
        isComplete = next === undefined;
        if (records.length >= maxRecords) break;
      }
      if (json) printJson(around, { data: records, complete: isComplete });
      else around.out(tableOf(records));
      if (!isComplete) around.err('There are more: use --csv, or a shorter time.\n');
      return exitCodes.done;
    });
  },
};

const maxRecords = 10_000;

function queryOf(given: Given): Omit<AuditQuery, 'limit' | 'after'> {
  const { text, around } = given;
  const last = text('last') ?? '7d';
  const lastMs = /^\d{1,5}[hd]$/.test(last) ? durationOf(last) : undefined;
  if (lastMs === undefined) throw usageError('--last must be a time such as 24h or 7d.');
  const outcome = (['done', 'failed', 'refused'] as const).find((name) => name === text('outcome'));
  if (text('outcome') !== undefined && outcome === undefined) {
    throw usageError('--outcome must be done, failed or refused.');
  }
  const [actor, action, target] = ['actor', 'action', 'target'].map(text);
  return {
    fromMs: dateOf(given, 'from') ?? Math.max(0, around.clock.now() - lastMs),
    ...stated({ toMs: dateOf(given, 'to'), actor, action, target, outcome }),
  };
}

function tableOf(records: readonly AuditRecord[]): string {
  return table(
    ['TIME', 'ACTOR', 'ACTION', 'TARGET', 'OUTCOME', 'CHANGE'],
    records.map(({ atMs, actor, action, target, outcome, code, change }) => [
      new Date(atMs).toISOString().slice(0, 19),
      ...[actor, action, target ?? '-'],
      code === undefined ? outcome : `${outcome}: ${code}`,
      changeText(change),
    ]),
    'No changes match. --last and --from select another time.',
  );
}

/** `weight 1 → 3, modelId gpt-5` */
function changeText(change: AuditRecord['change']): string {
  return changedMembers(change)
    .map(({ name, before, value }) => `${name} ${before === null ? '' : `${before} → `}${value}`)
    .join(', ');
}

export const consoleLink: Command = {
  name: 'console link',
  summary: 'print a sign-in link for the console of a running process',
  options: {
    actor: { value: 'NAME', text: 'who signs in, for the audit trail; required' },
    can: { value: 'RIGHT', text: 'read or manage; default: read' },
    url: { value: 'URL', text: 'the address of the admin port for browsers, if behind a proxy' },
    config: configOption,
  },
  about: `Prints a link that signs an operator in once, within ten minutes, and for up to 12 hours.
It asks the process that runs with this configuration on admin.port, and needs admin.token,
or one of admin.tokens that can manage.`,
  examples: ['npx tollgate console link --actor ada --can read'],
  printsSecret: true,
  run: async (given) => {
    const { around, text, json } = given;
    const [actor, can = 'read'] = [text('actor'), text('can')];
    if (actor === undefined) throw usageError('console link needs --actor NAME.');
    if (can !== 'read' && can !== 'manage') throw usageError('--can must be read or manage.');
    const { admin } = (await configFile(given).open()).current().config;
    const answer = await askAdmin(admin, linksPath, around.clock, { actor, can });
    const path = member(answer.value, 'path');
    if (admin === undefined || typeof path !== 'string') {
      const message = member(member(answer.reply, 'error'), 'message') ?? answer.reason;
      throw new CommandError(exitCodes.unreachable, `There is no link: ${message}`);
    }
    const link = `${originIn(text('url')) ?? originOf(admin)}${path}`;
    if (json) printJson(around, { link, actor, can });
    else around.out(`${link}\n`);
    return exitCodes.done;
  },
};

function originIn(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return new URL(url).origin;
  throw usageError('--url must be an address such as https://gateway.example.');
}
