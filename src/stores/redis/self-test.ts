/** Checks by INFO whether a Redis server is fit to hold quota. */

const oldest = { major: 6, minor: 2 };

/** The problems of a server, each a sentence with its remedy; `info` is the text of INFO. */
export function problemsOf(
  info: readonly string[],
  durability: 'replica-async' | 'durable',
): readonly string[] {
  const fields = fieldsOf(info);
  const version = fields.get('redis_version') ?? 'unknown';
  const policy = fields.get('maxmemory_policy') ?? 'unknown';
  const hasAof = fields.get('aof_enabled') === '1';
  return [
    ...(isNewEnough(version)
      ? []
      : [`Redis is version ${version}: it must be ${oldest.major}.${oldest.minor} or newer`]),
    ...(policy === 'noeviction'
      ? []
      : [`maxmemory-policy is ${policy}, which may drop balances: set it to noeviction`]),
    ...(durability === 'durable' && !hasAof
      ? ['appendonly is off, so nothing is durable: set appendonly yes and appendfsync always']
      : []),
  ];
}

/** Parses lines of `name:value`. */
function fieldsOf(info: readonly string[]): ReadonlyMap<string, string> {
  const lines = info.flatMap((text) => text.split('\r\n'));
  return new Map(
    lines.flatMap((line) => {
      const [, name, value] = /^(\w+):(.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > oldest.major || (major === oldest.major && minor >= oldest.minor);
}
