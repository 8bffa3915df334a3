/** Tensors and arrays to canvases, one canvas pixel per image pixel; the style sheet scales without smoothing. */

export type Shape = [number, number, number];

/** One image of a batch `[n, c, h, w]` of values from 0 to 1; one or two channels become grey. */
export function fromTensor(values: Float32Array, shape: Shape, at = 0): ImageData {
  const [height, width, channels] = shape;
  const plane = height * width;
  const first = at * channels * plane;
  return fill(width, height, channels, (pixel, channel) => 255 * values[first + channel * plane + pixel]);
}

/** One image of an array `[n, h, w, c]` of bytes. */
export function fromBytes(bytes: Uint8Array, shape: Shape, at = 0): ImageData {
  const [height, width, channels] = shape;
  const first = at * height * width * channels;
  return fill(width, height, channels, (pixel, channel) => bytes[first + pixel * channels + channel]);
}

function fill(width: number, height: number, channels: number, value: (pixel: number, channel: number) => number): ImageData {
  const image = new ImageData(width, height);
  const colour = channels >= 3;
  for (let pixel = 0; pixel < width * height; pixel++) {
    // A clamped array rounds to the nearest byte and clamps.
    for (let channel = 0; channel < 3; channel++) image.data[4 * pixel + channel] = value(pixel, colour ? channel : 0);
    image.data[4 * pixel + 3] = 255;
  }
  return image;
}

export function paint(canvas: HTMLCanvasElement, image: ImageData): void {
  if (canvas.width !== image.width) canvas.width = image.width;
  if (canvas.height !== image.height) canvas.height = image.height;
  canvas.getContext("2d")!.putImageData(image, 0, 0);
}

/** A picture file as the encoder sees images: `[1, c, h, w]` from 0 to 1, cut to the right proportions and scaled. */
export async function fromFile(file: Blob, shape: Shape): Promise<Float32Array> {
  const [height, width, channels] = shape;
  const source = await createImageBitmap(file);
  const scale = Math.min(source.width / width, source.height / height);
  const [w, h] = [width * scale, height * scale];
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.imageSmoothingQuality = "high";
  context.imageSmoothingEnabled = scale !== 1;
  context.drawImage(source, (source.width - w) / 2, (source.height - h) / 2, w, h, 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height).data;
  const values = new Float32Array(channels * height * width);
  for (let pixel = 0; pixel < height * width; pixel++) {
    const [r, g, b] = pixels.subarray(4 * pixel, 4 * pixel + 3);
    const grey = 0.299 * r + 0.587 * g + 0.114 * b;
    for (let channel = 0; channel < channels; channel++)
      values[channel * height * width + pixel] = (channels >= 3 ? [r, g, b, 255][Math.min(channel, 3)] : grey) / 255;
  }
  return values;
}
