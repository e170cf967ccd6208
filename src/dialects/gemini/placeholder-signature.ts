/** What Google takes in place of a signature that it did not make. */

/**
 * Base64 of `context_engineering_is_the_way_to_go`, as it was recorded in
 * `gemini/tools-from-other-model.1`.
 */
export const placeholderSignature = 'Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv';
