/** Copies text, and reports if the browser does not allow it: only secure origins may. */

export function copyText(text: string, what: string, announce: (text: string) => void): void {
  const refused = (): void => announce('This browser does not allow copying. Select the text.');
  // Undefined on a page that is neither on HTTPS nor on localhost, despite its type.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard === undefined) return refused();
  void clipboard.writeText(text).then(() => announce(`${what} was copied.`), refused);
}
