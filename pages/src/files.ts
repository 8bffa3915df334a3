/** Data comes as scripts that call `unbraid(name, value)`: a page opened from a disk may load those, but not fetch. */

const values = new Map<string, unknown>();
const loading = new Map<string, Promise<unknown>>();

declare global {
  interface Window {
    unbraid: (name: string, value: unknown) => void;
  }
}

window.unbraid = (name, value) => void values.set(name, value);

/** The value a script gives; `folder` is relative to the page. */
export function load<T>(name: string, folder = ""): Promise<T> {
  let promise = loading.get(name);
  if (!promise) {
    promise = new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${folder}${name}.js`;
      script.onload = () => (values.has(name) ? resolve(values.get(name)) : reject(new Error(`${name}.js is damaged`)));
      script.onerror = () => reject(new Error(`${name}.js is missing or cannot be read`));
      document.head.append(script);
    });
    loading.set(name, promise);
  }
  return promise as Promise<T>;
}

/** Bytes that were compressed and written as text. */
export async function loadBytes(name: string, folder = ""): Promise<Uint8Array> {
  const text = await load<string>(name, folder);
  values.delete(name);
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
