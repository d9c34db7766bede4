/** Types of imports that the bundler makes: the bundles of the worker and of the page, packed, and WGSL shaders as text. */
declare module "worker-source" {
  const source: string;
  export default source;
}

declare module "page-source" {
  /** js/page.ts and its style sheet as gzip in base64, and what tells one build from another. */
  const source: { packed: string; styles: string; hash: string };
  export default source;
}

declare module "*.wgsl" {
  const source: string;
  export default source;
}
