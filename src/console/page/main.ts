/** The console's page: what the gateway does at the moment, in a sentence. */

const api = new URL('api/', import.meta.url);
const reply = await fetch(new URL('now', api));
const { sentence } = await reply.json();
const heading = document.createElement('h1');
heading.textContent = document.title;
const status = document.createElement('p');
status.textContent = sentence.map(({ text }: { readonly text: string }) => text).join(' ');
document.querySelector('#app')?.append(heading, status);
