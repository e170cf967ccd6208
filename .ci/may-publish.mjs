/**
 * Refuses to publish what npm could not show or vouch for: npm runs it as `prepublishOnly`. The
 * argument is the package's folder.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2] ?? '.';
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const refusals = [missingAddresses(), ...relativePictures(), missingIdentity()].filter(Boolean);
for (const refusal of refusals) console.error(`Not published: ${refusal}`);
if (refusals.length > 0) process.exitCode = 1;

/** Where the code, its issues and the address for vulnerabilities are. */
function missingAddresses() {
  const { repository, homepage, bugs } = manifest;
  const needed = {
    'repository.url': repository?.url,
    homepage,
    'bugs.url': bugs?.url,
    'bugs.email': bugs?.email,
  };
  const missing = Object.keys(needed).filter((name) => !needed[name]);
  if (missing.length === 0) return undefined;
  return (
    `package.json lacks ${missing.join(', ')}. SECURITY.md sends reports of vulnerabilities to ` +
    'bugs.email, and links on npm need repository.url.'
  );
}

/** The package leaves the pictures out, so a page shows them by an absolute link only. */
function relativePictures() {
  const docs = readdirSync(join(folder, 'docs'), { recursive: true, encoding: 'utf8' });
  const pages = docs.filter((path) => /^(?!internals\b).*\.md$/.test(path)).sort();
  return ['README.md', ...pages.map((path) => join('docs', path))].flatMap((page) =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/!\[[^\]]*\]\((?!https:)([^)]+)\)/g)].map(
      ([, link]) =>
        `${page} shows ${link}, which is not in the package. Link to the file in the repository, ` +
        'with https.',
    ),
  );
}

/** npm signs the provenance by the identity that a CI job gets on request, by OpenID Connect. */
function missingIdentity() {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: github, SIGSTORE_ID_TOKEN: gitlab } = process.env;
  if (github || gitlab) return undefined;
  return (
    'there is no identity to sign the provenance with. Publish from a job of GitHub Actions with ' +
    'the permission `id-token: write`, or of GitLab with SIGSTORE_ID_TOKEN in its `id_tokens`.'
  );
}
