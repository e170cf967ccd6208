/**
 * Keeps the AI SDK from raising process warnings, in every file: it warns of deprecated parts,
 * which all its versions take, and of models that it does not know.
 */
Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false);
