/**
 * Refuses to publish while package.json does not say where the code, its issues and the address for
 * vulnerabilities are: npm runs it as `prepublishOnly`.
 */
import { readFileSync } from 'node:fs';

const { repository, homepage, bugs } = JSON.parse(
  readFileSync(process.argv[2] ?? 'package.json', 'utf8'),
);
const needed = {
  'repository.url': repository?.url,
  homepage,
  'bugs.url': bugs?.url,
  'bugs.email': bugs?.email,
};
const missing = Object.keys(needed).filter((name) => !needed[name]);
if (missing.length > 0) {
  console.error(
    `Not published: package.json lacks ${missing.join(', ')}. SECURITY.md sends reports of ` +
      'vulnerabilities to bugs.email, and links on npm need repository.url.',
  );
  process.exitCode = 1;
}
