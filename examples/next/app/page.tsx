/** A page whose users sign in, and then ask a model. It has no key. */
'use client';

import { type FormEvent, useState } from 'react';
import { ask } from './chat';

export default function Page() {
  const [reply, setReply] = useState('');

  async function send(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const question = String(new FormData(event.currentTarget).get('question'));
    setReply('');
    try {
      for await (const text of ask(question)) setReply((before) => before + text);
    } catch (error) {
      setReply(String(error));
    }
  }

  return (
    <main>
      <form action="/sign-in" method="post">
        <input name="name" aria-label="Name" required />
        <button type="submit">Sign in</button>
      </form>
      <form onSubmit={send}>
        <input name="question" aria-label="Question" required />
        <button type="submit">Ask</button>
      </form>
      <p aria-live="polite">{reply}</p>
    </main>
  );
}
