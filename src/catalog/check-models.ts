/** Refuses lists of models that a gateway can't serve as they are, before it serves them. */
import { ConfigurationError } from '../errors.ts';
import type { Model } from '../ports/catalog.ts';
import { refuseProblems } from '../ports/set-up.ts';
import { modelProblems } from './model-problems.ts';

/**
 * Checks models of unknown origin: a host's JavaScript, or a file.
 *
 * @throws ConfigurationError with a sentence for each wrong member, the model's name in it
 */
export function checkModels(models: unknown): asserts models is readonly Model[] {
  if (!Array.isArray(models)) {
    throw new ConfigurationError('staticCatalog: models must be a list. Give it [] for none.');
  }
  const [first, ...others] = modelProblems(models);
  if (first === undefined) return;
  const sentence = first.sentence.replace(/^models/, 'staticCatalog: models');
  refuseProblems([{ ...first, sentence }, ...others]);
}
