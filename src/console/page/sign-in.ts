/**
 * The sign-in page: exchanges the token of a link for a session, and opens the requested view of
 * the console.
 */

interface PageState {
  /** The requested route of the console: `#/keys?range=1h`. */
  place: string;
  attempts: number;
}

const base = location.pathname.replace(/\/sign-in$/, '');

await signIn();

async function signIn(): Promise<void> {
  const state: PageState = { place: '', attempts: 0 };
  // A link that is pasted into this tab changes only the fragment, so the page is not loaded again.
  addEventListener('hashchange', () => void enter(state));
  await enter(state);
}

async function enter(page: PageState): Promise<void> {
  page.attempts += 1;
  const attempt = page.attempts;
  const token = takenToken(page);
  const problem = token === undefined ? await sessionProblem() : await exchangeProblem(token);
  if (problem === undefined) return location.replace(`${base}${page.place}`);
  const line = document.querySelector('#state');
  // A newer link was opened meanwhile, and shows its own result.
  if (attempt === page.attempts && line !== null) line.textContent = problem;
}

/** Takes the token out of the address bar and the history, before anything else. */
function takenToken(page: PageState): string | undefined {
  const { hash, pathname } = location;
  const isPlace = hash.startsWith('#/');
  if (isPlace) page.place = hash;
  history.replaceState(null, '', `${pathname}${page.place}`);
  return isPlace ? undefined : (new URLSearchParams(hash.slice(1)).get('token') ?? undefined);
}

/**
 * Whether this browser is signed in already. It does not send the cookie (`SameSite=Strict`) when a
 * link from another site is followed, but does with a request of this page.
 */
async function sessionProblem(): Promise<string | undefined> {
  const problem =
    'Open the link that was printed when the gateway started. It works once, for ten minutes; ' +
    'a restart prints a new one.';
  try {
    const reply = await fetch(base, { method: 'HEAD', redirect: 'manual', cache: 'no-store' });
    return reply.ok ? undefined : problem;
  } catch {
    return problem;
  }
}

async function exchangeProblem(token: string): Promise<string | undefined> {
  try {
    const reply = await fetch(location.pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-tollgate-admin': '1' },
      body: JSON.stringify({ token }),
    });
    if (reply.ok) return undefined;
    const { error } = await reply.json();
    return String(error.message);
  } catch {
    return 'The gateway did not answer. Open the link again.';
  }
}
