/** The signature that Google accepts for parts of another model. */

/** Base64 of `context_engineering_is_the_way_to_go`, from `gemini/tools-from-other-model.1`. */
export const placeholderSignature = 'Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv';
