/**
 * The HTML pages of the console. They load files from their own origin, and have no inline script
 * or style.
 */

export function consoleHtml(base: string, title: string, canSignOut: boolean): string {
  const signOut = canSignOut ? ' data-sign-out' : '';
  return page(
    escaped(title),
    `<link rel="stylesheet" href="${base}/console.css">
<script type="module" src="${base}/console.js"></script>`,
    `<main id="app"${signOut}><noscript>The console needs JavaScript.</noscript></main>`,
  );
}

/** The page that exchanges the token of a link for a session. */
export function signInHtml(base: string): string {
  return page(
    'Sign in',
    `<link rel="stylesheet" href="${base}/sign-in.css">
<script type="module" src="${base}/sign-in.js"></script>`,
    `<main>
<h1>Sign in to the console</h1>
<p id="state" role="status">Signing in …</p>
<noscript><p>The console needs JavaScript.</p></noscript>
</main>`,
  );
}

export function messageHtml(sentence: string): string {
  return page('Console', '', `<main><h1>Console</h1><p>${escaped(sentence)}</p></main>`);
}

function page(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
