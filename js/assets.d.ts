/** Types of imports that the bundler turns into text: the worker's bundle, packed, and WGSL shaders. */
declare module "worker-source" {
  const source: string;
  export default source;
}

declare module "*.wgsl" {
  const source: string;
  export default source;
}
