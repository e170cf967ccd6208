/** Exchanges the token of a sign-in link for a session, and opens the console. */

const state = document.querySelector('#state');
const token = new URLSearchParams(location.hash.slice(1)).get('token');
// Out of the address bar and the history, before anything else.
history.replaceState(null, '', location.pathname);

if (token === null) {
  show(
    'Open the link that was printed when the gateway started. It works once, for ten minutes; ' +
      'a restart prints a new one.',
  );
} else {
  await exchange(token);
}

async function exchange(secret: string): Promise<void> {
  try {
    const reply = await fetch(location.pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-tollgate-admin': '1' },
      body: JSON.stringify({ token: secret }),
    });
    if (reply.ok) return location.replace(new URL('.', location.href).pathname.replace(/\/$/, ''));
    const { error } = await reply.json();
    show(String(error.message));
  } catch {
    show('The gateway did not answer. Open the link again.');
  }
}

function show(sentence: string): void {
  if (state !== null) state.textContent = sentence;
}
