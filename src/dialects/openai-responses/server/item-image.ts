/** Writes an image that the model generated, as the item of OpenAI's own image tool. */
import { quoted, quotedLine } from '../../../canonical/raw-json.ts';
import { addItem, endItem, type ItemPlace } from './item-place.ts';

/** An image and its media type. */
export interface GeneratedImage {
  /** `image/` and the name of a format. */
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

/** Writes a whole image. */
export function writeImage(place: ItemPlace, { mimeType, data }: GeneratedImage): string {
  const { id, index, log } = place;
  const format = quotedLine(mimeType.slice('image/'.length));
  addItem(place, imageText(place, '"status":"in_progress","result":null'));
  log.add(
    'response.image_generation_call.completed',
    `"item_id":${quoted(id)},"output_index":${index}`,
  );
  const members = `"status":"completed","output_format":${format},"result":${quotedLine(data)}`;
  return endItem(place, imageText(place, members));
}

function imageText({ id }: ItemPlace, members: string): string {
  return `{"id":${quoted(id)},"type":"image_generation_call",${members}}`;
}
